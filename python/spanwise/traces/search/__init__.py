"""Searches of a store: pages, aggregations, facets, and the threads that run them."""
