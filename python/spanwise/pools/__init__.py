"""Thread pools that callers share in turns."""
