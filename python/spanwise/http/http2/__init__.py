"""A server of ASGI applications over HTTP/2, for clients that need trailers. `h2` is its protocol engine."""
