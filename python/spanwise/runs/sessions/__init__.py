"""The sessions of runs: lookup, changes and deletion, here and in the databases of components."""
