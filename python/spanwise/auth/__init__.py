"""Authentication and authorization as plain functions. Only `http` knows requests."""
