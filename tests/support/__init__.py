"""Shared support code of the tests: running services, clients, servers of other projects, and apps to host."""
