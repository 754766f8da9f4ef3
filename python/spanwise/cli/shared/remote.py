"""Requests from commands to a running service."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.error import HTTPError, URLError
from urllib.request import ProxyHandler, Request, build_opener

import click
from msgspec import Struct

from spanwise.cli.shared.browser import NoServiceError, expect_address, service_address
from spanwise.settings import load_settings

if TYPE_CHECKING:
    from collections.abc import Callable
    from http.client import HTTPResponse

CONNECT_SECONDS = 10.0
TOKEN_VARIABLE = "SPANWISE_TOKEN"  # noqa: S105  # the name of a variable, not a token

_Command = TypeVar("_Command", bound="Callable[..., Any]")


class Remote(Struct, frozen=True):
    """A running service.

    Attributes:
        url: its address.
        token: the token to send, if any.
    """

    url: str
    token: str | None = None

    def open(self, path: str, body: object = None, timeout: float | None = CONNECT_SECONDS) -> HTTPResponse:
        """Sends a GET, or a POST if there is a body, and returns the response. The caller closes it.

        Args:
            path: the path and query.
            body: a value to send as JSON.
            timeout: seconds of silence before the request fails; None waits forever.

        Raises:
            NoServiceError: nothing responds at the address.
            ClickException: the service rejected the request; the message has the reason.
        """
        headers = {"Accept": "application/json"} | ({"Authorization": f"Bearer {self.token}"} if self.token else {})
        data = None if body is None else json.dumps(body).encode()
        if data is not None:
            headers["Content-Type"] = "application/json"
        try:
            request = Request(self.url.rstrip("/") + path, data, headers)  # noqa: S310  # the user's own address
            response: HTTPResponse = build_opener(ProxyHandler({})).open(request, timeout=timeout)
        except HTTPError as error:
            raise click.ClickException(_rejection(error, self.token)) from error
        except (URLError, OSError, ValueError) as error:
            reason = error.reason if isinstance(error, URLError) else error
            shown = reason.strerror if isinstance(reason, OSError) and reason.strerror else reason
            raise NoServiceError(
                f"no service responds at {self.url}: {shown}; start one with `spanwise serve`, or pass `--url`"
            ) from error
        return response


def remote_options(command: _Command) -> _Command:
    """Adds `--url` and `--token` to `command`."""
    token = click.option("--token", envvar=TOKEN_VARIABLE, help=f"Token to send to it. [{TOKEN_VARIABLE}]")
    url = click.option("--url", help="Address of the service; by default, the address in the settings.")
    return url(token(command))


def remote_at(url: str | None, token: str | None) -> Remote:
    """Returns the service at an address, by default the address in the settings."""
    return Remote(expect_address(url) if url else service_address(load_settings()), token)


def _rejection(error: HTTPError, token: str | None) -> str:
    try:
        detail = str(json.loads(error.read())["detail"])
    except (ValueError, KeyError, TypeError):
        detail = error.reason
    if error.code == 401:  # noqa: PLR2004  # Unauthorized
        hint = "the token is not accepted" if token else f"`--token` or {TOKEN_VARIABLE} gives one"
        return f"the service asks for a token: {detail}; {hint}"
    return f"the service answered {error.code}: {detail}"
