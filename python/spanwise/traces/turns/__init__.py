"""Threads in which callers take turns."""
