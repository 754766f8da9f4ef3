"""Request parsing: from bytes to typed values."""
