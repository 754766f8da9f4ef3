"""Serves OTLP over gRPC: an ASGI application for an HTTP/2 server that supports trailers.

Source: gRPC, "gRPC over HTTP2"; OTLP 1.x, "OTLP/gRPC".
"""
