"""A real nginx with a configuration from the documentation."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

import httpx
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_START_SECONDS = 10
_FRAME = """
daemon off;
pid {folder}/nginx.pid;
error_log {folder}/error.log;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
{configuration}
}}
"""


@contextmanager
def running(folder: Path, configuration: str, probe: str) -> Iterator[None]:
    """Runs nginx until the end of the block.

    Args:
        folder: the folder of its files.
        configuration: the content of the `http` block.
        probe: a URL that responds once nginx runs. Its certificate is not verified.
    """
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        assert "TESTS_SKIP_NOTHING" not in os.environ
        pytest.skip("nginx is not installed")
    file = folder / "nginx.conf"
    file.write_text(_FRAME.format(folder=folder, configuration=configuration), "utf-8")
    command = [program, "-p", str(folder), "-c", str(file)]
    checked = subprocess.run([*command, "-t"], capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked.stderr
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as process:
        try:
            _wait_until_it_responds(probe)
            yield
        finally:
            process.terminate()


def _wait_until_it_responds(url: str) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while True:
        try:
            httpx.get(url, verify=False)  # noqa: S501  # the test's own certificate
        except httpx.TransportError:
            assert time.monotonic() < deadline, f"nothing responds at {url}"
            time.sleep(0.05)
        else:
            return
