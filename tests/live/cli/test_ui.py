"""`spanwise ui` and `spanwise demo` lead a browser to the user interface."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from support.services.demo import read_output, start_demo
from support.services.process import NO_DEFAULT_PORTS, RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

NOT_INHERITED = ("SPANWISE_", "JWT_", "CI", "DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
DESKTOP = {"DISPLAY": ":0"}


class Browser:
    """A stand-in for the desktop browser, which records the addresses it should open."""

    def __init__(self, folder: Path) -> None:
        program = folder / "browser"
        self._opened = folder / "opened"
        program.write_text(f'#!/bin/sh\necho "$1" >> {self._opened}\n', "utf-8")
        program.chmod(0o755)
        inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
        self.environment = inherited | NO_DEFAULT_PORTS | {"BROWSER": str(program)}

    @property
    def opened(self) -> list[str]:
        return self._opened.read_text("utf-8").splitlines() if self._opened.exists() else []


@pytest.fixture
def browser(tmp_path: Path) -> Browser:
    return Browser(tmp_path)


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("served") / "data") as running:
        yield running
        assert running.stop() == 0


def ui(browser: Browser, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "spanwise", "ui", *arguments]
    environment = browser.environment | variables
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=False)


def test_it_opens_the_page_of_a_running_service(browser: Browser, served: RunningService) -> None:
    for given in (served.url, f"{served.url}/"):
        done = ui(browser, "--url", given, **DESKTOP)
        assert (done.returncode, done.stdout, done.stderr) == (0, f"{served.url}/ui\n", "")
    assert browser.opened == [f"{served.url}/ui"] * 2


def test_it_finds_the_service_by_the_settings(browser: Browser, served: RunningService, tmp_path: Path) -> None:
    config = tmp_path / "spanwise.toml"
    config.write_text(f'port = {served.port}\nhost = "0.0.0.0"\n', "utf-8")
    for arguments, variables in (
        (["--port", str(served.port)], {}),
        (["--config", str(config)], {}),
        ([], {"SPANWISE_PORT": str(served.port)}),
        (["--host", "localhost"], {"SPANWISE_PORT": str(served.port)}),
    ):
        done = ui(browser, *arguments, **DESKTOP, **variables)
        assert (done.returncode, done.stdout) == (0, browser.opened[-1] + "\n"), done.stderr
        assert browser.opened[-1].endswith(f":{served.port}/ui")


@pytest.mark.parametrize("variables", [{}, DESKTOP | {"CI": "true"}])
def test_without_a_desktop_it_says_the_address(
    browser: Browser, served: RunningService, variables: dict[str, str]
) -> None:
    done = ui(browser, "--url", served.url, **variables)
    assert (done.returncode, done.stdout) == (0, f"{served.url}/ui\n")
    assert "open this address in a browser elsewhere" in done.stderr
    assert browser.opened == []


def test_it_says_that_no_service_answers(browser: Browser) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    done = ui(browser, "--url", url, **DESKTOP)
    assert (done.returncode, done.stdout) == (1, "")
    assert (
        done.stderr == f"Error: no service responds at {url}/ui: Connection refused; start one with `spanwise serve`\n"
    )
    assert browser.opened == []


@pytest.mark.parametrize("url", ["nonsense", "ftp://host", "http://"])
def test_it_names_what_is_no_address(browser: Browser, url: str) -> None:
    done = ui(browser, "--url", url, **DESKTOP)
    assert done.returncode == 1
    said = (
        "no service responds at http:/ui: " if url == "http://" else "expected an address like `http://127.0.0.1:7777`"
    )
    assert done.stderr.startswith(f"Error: {said}")
    assert len(done.stderr.splitlines()) == 1


def test_it_says_that_something_else_answers(browser: Browser, served: RunningService) -> None:
    done = ui(browser, "--url", f"{served.url}/docs", **DESKTOP)
    assert done.returncode == 1
    assert done.stderr == f"Error: {served.url}/docs/ui has no user interface: it responded with 404\n"
    done = ui(browser, "--url", f"{served.url}/openapi.json?", **DESKTOP)
    assert "expected text/html, got application/json" in done.stderr
    assert browser.opened == []


@pytest.mark.parametrize("flags", [[], ["--no-open"]])
def test_the_demo_says_the_address_and_opens_it(browser: Browser, tmp_path: Path, flags: list[str]) -> None:
    port = free_port()
    page = f"http://127.0.0.1:{port}/ui"
    environment = browser.environment | DESKTOP
    with start_demo(tmp_path / "demo", port, "--traces", "20", *flags, environment=environment) as demo:
        printed = read_output(demo)
        assert f"  user interface  {page}\n" in printed
        deadline = time.monotonic() + (2 if flags else 60)
        while not browser.opened and time.monotonic() < deadline:
            time.sleep(0.05)
        demo.send_signal(signal.SIGINT)
        assert demo.wait(15) == 0
    assert browser.opened == ([] if flags else [page])
