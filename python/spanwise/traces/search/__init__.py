"""Questions to a store: pages, aggregations, facets, and the threads that answer them."""
