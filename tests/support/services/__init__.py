"""Spanwise as a running service, each in its own process."""
