"""A JWKS at a URL of an identity provider, refreshed in the background.

A request waits for the provider only if its token names an unknown key. Such requests share one fetch, and at most one
fetch starts per second. If the provider is unreachable, the last valid keys stay in use.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import Future
from http.client import HTTPException
from typing import TYPE_CHECKING, Any
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import (
    HTTPDefaultErrorHandler,
    HTTPErrorProcessor,
    HTTPHandler,
    HTTPRedirectHandler,
    HTTPSHandler,
    OpenerDirector,
    ProxyHandler,
    Request,
)

from spanwise.auth.key_sets import MAX_JWKS_BYTES, read_jwks
from spanwise.auth.keys import InvalidKeyError
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.client import HTTPResponse

    from spanwise.auth.keys import VerificationKey

REFRESH_SECONDS = 60.0
MIN_FETCH_INTERVAL_SECONDS = 1.0
SOCKET_SECONDS = 5.0
FETCH_SECONDS = 10.0

_log = logging.getLogger(__name__)


class FetchError(Exception):
    """A JWKS could not be fetched. The message never contains the URL."""


class _SafeRedirect(HTTPRedirectHandler):
    """Follows redirects from https only to https, and from http to http or https."""

    max_redirections = 3

    def redirect_request(self, req: Request, *args: Any) -> Request | None:  # noqa: ANN401  # urllib's signature
        """Returns the redirected request, or raises FetchError."""
        allowed = {"https"} if req.type == "https" else {"http", "https"}
        if urlsplit(args[-1]).scheme not in allowed:
            args[0].close()
            raise FetchError("redirects to a different URL scheme")
        return super().redirect_request(req, *args)


def _opener() -> OpenerDirector:
    """Returns an opener for `http` and `https` only, without `file`, `ftp` and `data`."""
    opener = OpenerDirector()
    for handler in (
        ProxyHandler,
        HTTPHandler,
        HTTPSHandler,
        HTTPDefaultErrorHandler,
        HTTPErrorProcessor,
        _SafeRedirect,
    ):
        opener.add_handler(handler())
    return opener


def fetch(url: str) -> bytes:
    """Returns the body of the response at `url`.

    Raises:
        FetchError: the server is unreachable, returns an error, or the response is too large or too slow.
    """
    deadline = time.monotonic() + FETCH_SECONDS
    request = Request(url, headers={"Accept": "application/json", "User-Agent": "spanwise"})  # noqa: S310  # the opener accepts no other scheme
    try:
        with _opener().open(request, timeout=SOCKET_SECONDS) as response:
            return b"".join(_read(response, deadline))
    except HTTPError as error:
        error.close()
        raise FetchError(f"returned status {error.code}") from None
    except URLError as error:
        raise FetchError(f"could not be reached: {type(error.reason).__name__}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise FetchError(f"could not be read: {type(error).__name__}") from None


def _read(response: HTTPResponse, deadline: float) -> Iterator[bytes]:
    content_length = response.length
    size = 0
    while content_length is None or size < content_length:
        chunk = response.read1(65536)
        size += len(chunk)
        if size > MAX_JWKS_BYTES:
            raise FetchError(f"is larger than {MAX_JWKS_BYTES} bytes")
        if time.monotonic() > deadline:
            raise FetchError(f"took longer than {FETCH_SECONDS:g} s")
        if not chunk and content_length is not None:
            raise FetchError("ended before its Content-Length")
        if not chunk:
            return
        yield chunk


class JwksUrl:
    """The keys of a JWKS URL.

    A thread fetches them every minute. If a fetch fails, the last valid keys stay in use.
    """

    def __init__(
        self,
        source: str,
        url: str,
        algorithm: str,
        fetch: Callable[[str], bytes],
        clock: Callable[[], float],
    ) -> None:
        """Fetches the keys once, and starts the thread.

        Args:
            source: the name of the setting with `url`, for messages.
            url: the URL.
            algorithm: the algorithm of keys without `alg`.
            fetch: returns the response body of a URL; raises FetchError.
            clock: monotonic time in seconds.

        Raises:
            ConfigurationError: it cannot be fetched, is not a JWKS, or contains no usable key.
        """
        self._origin = f"the JWKS at the URL given by {source}"
        self._url = url
        self._algorithm = algorithm
        self._fetch = fetch
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: Future[None] | None = None
        self._is_closed = False
        self._text: bytes | None = None
        self._keys: tuple[VerificationKey, ...] = ()
        self._last_error = ""
        self._fetched_at = self._attempted_at = clock()
        try:
            self._load()
        except (FetchError, InvalidKeyError) as error:
            raise ConfigurationError(f"{self._origin} {error}") from None
        if urlsplit(url).scheme == "http" and urlsplit(url).hostname not in {"localhost", "127.0.0.1", "::1"}:
            _log.warning("%s is not https: anyone on the network path to it can replace the keys", source)
        self._thread = threading.Thread(target=self._refresh, name="jwks", daemon=True)
        self._thread.start()

    def keys(self) -> tuple[VerificationKey, ...]:
        """Returns the keys of the last successful fetch."""
        return self._keys

    @property
    def age_seconds(self) -> float:
        """Returns the seconds since the last successful fetch."""
        return self._clock() - self._fetched_at

    def refetch(self) -> Future[None] | None:
        """Requests a fetch now, because a token names an unknown key.

        Returns:
            A future that is done when the fetch has succeeded or failed. Concurrent callers share it. None if the last
            fetch was less than a second ago.
        """
        with self._changed:
            if self._waiting is not None:
                return self._waiting
            if self._is_closed or self._clock() - self._attempted_at < MIN_FETCH_INTERVAL_SECONDS:
                return None
            self._waiting = Future()
            self._waiting.set_running_or_notify_cancel()  # cancelling one caller must not cancel the others
            self._changed.notify()
            return self._waiting

    def close(self) -> None:
        """Stops the thread, and wakes all callers that wait for a fetch."""
        with self._changed:
            self._is_closed = True
            self._changed.notify()

    def _refresh(self) -> None:
        while True:
            with self._changed:
                if self._waiting is None and not self._is_closed:
                    self._changed.wait(REFRESH_SECONDS)
                is_closed = self._is_closed
            if not is_closed:
                self._load_or_keep()
            with self._changed:
                waiting, self._waiting = self._waiting, None
            if waiting is not None:
                waiting.set_result(None)
            if is_closed:
                return

    def _load_or_keep(self) -> None:
        error_text = ""
        try:
            self._load()
        except (FetchError, InvalidKeyError) as error:
            error_text = str(error)
        except Exception as error:  # noqa: BLE001  # of a bug: the thread must survive it, or callers would wait forever
            error_text = f"failed: {type(error).__name__}"
        if error_text and error_text != self._last_error:
            _log.error("kept the last valid keys: %s %s", self._origin, error_text)
        self._last_error = error_text

    def _load(self) -> None:
        self._attempted_at = self._clock()
        text = self._fetch(self._url)
        if text != self._text:
            keys = read_jwks(text, self._algorithm, is_trusted=False, origin=self._origin)
            if not keys:
                raise InvalidKeyError("contains no usable signature key")
            self._keys, self._text = keys, text
        self._fetched_at = self._clock()
