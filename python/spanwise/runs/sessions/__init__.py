"""The sessions that runs belong to: how one is found, changed and deleted, here and in the databases of components."""
