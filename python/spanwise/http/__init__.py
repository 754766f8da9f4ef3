"""The HTTP layer: from a request to a response. No other folder imports the web framework or the server."""
