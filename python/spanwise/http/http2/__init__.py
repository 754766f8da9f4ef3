"""An HTTP/2 server of ASGI applications, for clients that need trailers. `h2` is the protocol engine."""
