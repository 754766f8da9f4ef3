"""Spanwise as a running service: in a process of its own or inside the test."""
