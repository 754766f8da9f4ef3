"""The transport of WebSockets: frames, the upgrade, limits and close codes."""
