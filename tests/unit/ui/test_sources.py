"""The sources of the user interface agree with the service."""

from __future__ import annotations

import subprocess
import sys

from support.paths import UI_SOURCES


def test_its_openapi_document_is_current() -> None:
    command = [sys.executable, "-m", "spanwise.http.openapi"]
    current = subprocess.run(command, capture_output=True, check=True).stdout
    written = (UI_SOURCES / "openapi.json").read_bytes()
    assert written == current, f"run `{' '.join(command[1:])} > ui/openapi.json`, then `npm run types` in `ui`"
