"""`spanwise demo` in its own process."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from support.services.process import NO_DEFAULT_PORTS, START_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path


class Demo(subprocess.Popen[str]):
    """The process.

    Attributes:
        log: its output file.
    """

    log: Path


@contextmanager
def start_demo(data_dir: Path, port: int, *flags: str, environment: Mapping[str, str] | None = None) -> Iterator[Demo]:
    """Starts the demo, and kills it at the end of the block.

    Args:
        data_dir: its data folder; its output is written beside it.
        port: the port to listen on.
        flags: further command-line arguments.
        environment: its environment variables; by default this process's, without a desktop.
    """
    command = [sys.executable, "-m", "spanwise", "demo", "--data-dir", str(data_dir), "--port", str(port), *flags]
    variables = {**os.environ, "CI": "true"} if environment is None else dict(environment)
    log = data_dir.with_suffix(".log")
    with (
        log.open("w", encoding="utf-8") as output,
        Demo(command, stdout=output, stderr=output, text=True, env=variables | NO_DEFAULT_PORTS) as demo,
    ):
        demo.log = log
        try:
            yield demo
        finally:
            demo.kill()


def read_output(demo: Demo) -> str:
    """Returns the demo's output until it was ready."""
    deadline = time.monotonic() + 2 * START_SECONDS
    while time.monotonic() < deadline:
        printed = demo.log.read_text("utf-8")
        if ": ready\n" in printed:
            return printed
        assert demo.poll() is None, printed
        time.sleep(0.05)
    raise TimeoutError(demo.log.read_text("utf-8"))
