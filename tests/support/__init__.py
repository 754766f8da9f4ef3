"""Support code that tests share: running services, clients, servers of other projects, and apps to host."""
