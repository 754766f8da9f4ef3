"""Screenshots, kept as files of the run."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from playwright.sync_api import Page

PICTURES = ROOT / "target" / "screenshots"
_NOT_IN_NAMES = re.compile(r"[^\w.-]+")


def take_picture(page: Page, name: str) -> Path:
    """Writes a screenshot of the page to `target/screenshots/<name>.png`, and returns the path."""
    path = PICTURES / (_NOT_IN_NAMES.sub("-", name) + ".png")
    page.screenshot(path=path, animations="disabled")
    return path
