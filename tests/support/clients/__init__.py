"""Clients of a service: tokens, requests and WebSockets."""
