"""Adapters for components of other frameworks. `spanwise.components.adapting` imports the one that an object needs."""
