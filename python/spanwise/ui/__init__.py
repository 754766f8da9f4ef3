"""The user interface: the files that `make ui` builds from the folder `ui`, in `dist`."""

PATH = "/ui"
"""The path of its page."""
