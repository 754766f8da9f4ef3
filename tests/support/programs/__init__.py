"""Programs that tests run in separate processes, so that tests can kill them."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import Any

from support.paths import TESTS


def start(module: str, *arguments: object, **options: Any) -> subprocess.Popen[str]:
    """Starts `support.programs.<module>` with these arguments; `options` are passed to `subprocess.Popen`."""
    command = [sys.executable, "-m", f"support.programs.{module}", *map(str, arguments)]
    return subprocess.Popen(command, env=environment(), text=True, stdout=subprocess.PIPE, **options)


def environment() -> dict[str, str]:
    """Returns the environment of this process, with `support` importable."""
    path = os.pathsep.join(filter(None, [str(TESTS), os.environ.get("PYTHONPATH", "")]))
    return {**os.environ, "PYTHONPATH": path}
