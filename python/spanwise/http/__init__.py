"""How does a request become an answer? The only folder that knows the web framework and the server."""
