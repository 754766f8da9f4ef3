"""Spanwise as a running service, each in a process of its own."""
