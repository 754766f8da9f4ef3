"""The routes, and the scopes and limits of each."""
