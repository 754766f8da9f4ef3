"""`spanwise demo` in a process of its own."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.services.process import NO_DEFAULT_PORTS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


@contextmanager
def start_demo(
    data_dir: Path, port: int, *flags: str, environment: Mapping[str, str] | None = None
) -> Iterator[subprocess.Popen[str]]:
    """Starts the demo, and kills it at the end of the block.

    Args:
        data_dir: its data folder.
        port: the port to listen on.
        flags: further arguments of its command line.
        environment: its environment variables; by default those of this process, without a desktop.
    """
    command = [sys.executable, "-m", "spanwise", "demo", "--data-dir", str(data_dir), "--port", str(port), *flags]
    variables = {**os.environ, "CI": "true"} if environment is None else dict(environment)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=variables | NO_DEFAULT_PORTS
    ) as demo:
        try:
            yield demo
        finally:
            demo.kill()


def read_output(demo: subprocess.Popen[str]) -> str:
    """Returns the output of the demo, up to its last example request."""
    assert demo.stdout is not None
    printed = line = ""
    while not ("/traces/search" in line and "holiday" in line):
        line = demo.stdout.readline()
        assert line, printed
        printed += line
    return printed
