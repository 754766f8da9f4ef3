"""The tables of routes, and the scopes and limits of each."""
