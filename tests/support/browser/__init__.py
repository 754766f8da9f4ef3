"""A browser for tests: Debian's Chromium, driven by Playwright, and what a page of ours never does in it."""
