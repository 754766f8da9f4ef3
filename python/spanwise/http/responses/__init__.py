"""Response encoding: from values, events and errors to bytes."""
