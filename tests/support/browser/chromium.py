"""Starts Chromium."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING

from playwright.sync_api import expect, sync_playwright

from support.servers import skip_missing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from playwright.sync_api import Browser

PATIENCE_MILLISECONDS = 10_000
"""How long a test waits for an expected state of a page."""


@contextmanager
def start_chromium() -> Iterator[Browser]:
    """Starts Chromium, and closes it at the end of the block. Skips the test if it is not installed."""
    program = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if program is None:
        skip_missing("Chromium is not installed")
    expect.set_options(timeout=PATIENCE_MILLISECONDS)
    with sync_playwright() as playwright:
        # The sandbox needs rights that containers lack. Chromium loads only our own pages.
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield browser
        finally:
            browser.close()
