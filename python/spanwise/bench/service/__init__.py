"""A `spanwise serve` process on the loopback interface, and a load generator for it."""
