"""The built files of the user interface. `make ui` builds them from the folder `ui` into `dist`."""

PATH = "/ui"
"""The path of the user interface."""
