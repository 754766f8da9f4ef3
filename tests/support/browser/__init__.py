"""A browser for tests: Debian's Chromium, driven by Playwright, with checks for forbidden behaviour of pages."""
