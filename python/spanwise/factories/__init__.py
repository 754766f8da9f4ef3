"""Which component does this very request get? Not built yet."""
