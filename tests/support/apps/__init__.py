"""Modules with a `service` for tests to run: components of every kind, and agents of other frameworks."""
