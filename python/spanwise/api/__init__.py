"""The types of requests and responses, one module per resource. A decoded request is fully validated."""
