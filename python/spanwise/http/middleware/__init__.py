"""Middleware that wraps every request and response."""
