"""Workflows over WebSockets: the handshake, sessions and actions."""
