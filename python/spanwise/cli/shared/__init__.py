"""What the commands share: their flags, tables, log formats, and the way to a browser."""
