"""The type of a route, and what handlers of all routes share: the state of the service and authorization."""
