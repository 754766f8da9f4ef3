"""The choice of a browser."""

from __future__ import annotations

import pytest

from spanwise.cli.shared.browser import has_desktop, page_address, service_address
from spanwise.settings import Settings

SSH = {"SSH_CONNECTION": "192.0.2.1 1 192.0.2.2 22"}


@pytest.mark.parametrize(
    ("environ", "platform", "expected"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"DISPLAY": ""}, "linux", False),
        (SSH, "linux", False),
        (SSH | {"DISPLAY": "localhost:10.0"}, "linux", True),
        ({}, "darwin", True),
        (SSH, "darwin", False),
        ({"SSH_TTY": "/dev/pts/0"}, "darwin", False),
        ({}, "win32", True),
        ({"DISPLAY": ":0", "CI": "true"}, "linux", False),
        ({"CI": "true"}, "darwin", False),
    ],
)
def test_a_browser_is_opened_where_somebody_sees_it(environ: dict[str, str], platform: str, *, expected: bool) -> None:
    assert has_desktop(environ, platform) is expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", "http://127.0.0.1:7000/ui"),
        ("0.0.0.0", "http://127.0.0.1:7000/ui"),
        ("::", "http://[::1]:7000/ui"),
        ("fe80::1", "http://[fe80::1]:7000/ui"),
        ("traces.example", "http://traces.example:7000/ui"),
    ],
)
def test_the_address_is_one_that_clients_on_this_machine_reach(host: str, expected: str) -> None:
    assert page_address(service_address(Settings(host=host, port=7000))) == expected
