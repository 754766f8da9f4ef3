"""Runs workflows over a WebSocket."""
