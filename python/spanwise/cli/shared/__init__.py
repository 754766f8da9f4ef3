"""Code that commands share: flags, tables, log formats, and opening the browser."""
