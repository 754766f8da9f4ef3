"""Finds the user interface of a service on this machine and opens it in a browser."""

from __future__ import annotations

import os
import sys
import threading
import time
import webbrowser
from typing import TYPE_CHECKING
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, build_opener

import click

from spanwise.ui import PATH

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanwise.settings import Settings

_ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}
_PATIENCE_SECONDS = 10.0
_OPENING_SECONDS = 120.0
"""Seconds that a service may take to open its stores."""
_POLL_SECONDS = 0.2


class NoServiceError(click.ClickException):
    """No service responds at an address, or it has no user interface."""


def service_address(settings: Settings) -> str:
    """Returns the address of the service with these settings, for clients on this machine."""
    host = _ANY_ADDRESS.get(settings.host, settings.host)
    return f"http://[{host}]:{settings.port}" if ":" in host else f"http://{host}:{settings.port}"


def page_address(service: str) -> str:
    """Returns the address of the user interface of a service."""
    return service.rstrip("/") + PATH


def has_desktop(environ: Mapping[str, str] = os.environ, platform: str = sys.platform) -> bool:
    """Returns whether this machine has a desktop that shows a browser.

    Args:
        environ: the environment variables.
        platform: the operating system, as `sys.platform` names it.
    """
    if environ.get("CI"):
        return False
    if environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"):
        return True
    is_remote = bool(environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"))
    return platform in {"darwin", "win32"} and not is_remote


def expect_address(url: str) -> str:
    """Returns `url` if it is an HTTP address.

    Raises:
        ClickException: it is not; the message suggests an address.
    """
    if url.startswith(("http://", "https://")):
        return url
    fixed = f"http://{url.partition('://')[2] or url}"
    raise click.ClickException(f"expected an address like `http://127.0.0.1:7777`, got `{url}`: try `--url {fixed}`")


def open_page(page: str) -> bool:
    """Opens the page in a browser if there is a desktop. Returns whether there is one."""
    return has_desktop() and webbrowser.open(page)


def open_page_when_ready(service: str) -> None:
    """Opens the user interface in a browser as soon as the service is ready. Returns at once."""
    if has_desktop():
        threading.Thread(target=_open_when_ready, args=(service,), daemon=True).start()


def _open_when_ready(service: str) -> None:
    deadline = time.monotonic() + _OPENING_SECONDS
    while time.monotonic() < deadline:
        try:
            _fetch(f"{service}/health?ready=true")
        except NoServiceError:
            time.sleep(_POLL_SECONDS)
        else:
            open_page(page_address(service))
            return


def expect_page(page: str) -> None:
    """Checks that a service serves its user interface at an address.

    Raises:
        NoServiceError: it does not; the message has the reason.
    """
    media_type = _fetch(page)
    if media_type != "text/html":
        raise NoServiceError(f"{page} is not the user interface: expected text/html, got {media_type}")


def _fetch(address: str) -> str:
    """Returns the media type of the response at an address. Ignores proxies of the environment.

    Raises:
        NoServiceError: there is no response.
    """
    try:
        with build_opener(ProxyHandler({})).open(address, timeout=_PATIENCE_SECONDS) as response:
            media_type: str = response.headers.get_content_type()
            return media_type
    except HTTPError as error:
        raise NoServiceError(f"{address} has no user interface: it responded with {error.code}") from error
    except URLError as error:
        reason = error.reason.strerror if isinstance(error.reason, OSError) else error.reason
        raise NoServiceError(f"no service responds at {address}: {reason}; start one with `spanwise serve`") from error
    except (OSError, ValueError) as error:
        raise NoServiceError(f"no service responds at {address}: {error}") from error
