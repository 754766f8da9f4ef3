"""Engines that keep an order or indexes: a module each, with `absent` and `open_engine`."""
