"""Serves OTLP over gRPC: an ASGI application for a server of HTTP/2 with trailers.

Source: gRPC, "gRPC over HTTP2"; OTLP 1.x, "OTLP/gRPC".
"""
