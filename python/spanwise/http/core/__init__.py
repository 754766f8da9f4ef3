"""The type of a route, and the parts that all handlers share: the state of the service and authorization."""
