"""Threads that callers share in turns."""
