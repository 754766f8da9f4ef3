"""A JWKS that an identity provider publishes: fetched in the background, kept while the provider is away.

No request waits for the provider, except those that name a key nobody has seen yet: they share one fetch, and
there is at most one fetch a second.
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

from spanwise.auth.key_sets import LARGEST_JWKS_BYTES, read_jwks
from spanwise.auth.keys import KeyFault
from spanwise.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from http.client import HTTPResponse

    from spanwise.auth.keys import VerificationKey

REFRESH_SECONDS = 60.0
LEAST_SECONDS_BETWEEN_FETCHES = 1.0
SOCKET_SECONDS = 5.0
FETCH_SECONDS = 10.0

_log = logging.getLogger(__name__)


class FetchError(Exception):
    """A JWKS could not be fetched. The text never holds the address."""


class _SafeRedirect(HTTPRedirectHandler):
    """Follows a redirect only to where the same protection holds: https stays https, http is http or https."""

    max_redirections = 3

    def redirect_request(self, req: Request, *answer: Any) -> Request | None:  # noqa: ANN401  # urllib's signature
        """Returns the next request, or refuses."""
        allowed = {"https"} if req.type == "https" else {"http", "https"}
        if urlsplit(answer[-1]).scheme not in allowed:
            answer[0].close()
            raise FetchError("redirects to another scheme")
        return super().redirect_request(req, *answer)


def _opener() -> OpenerDirector:
    """Returns what opens `http` and `https` and nothing else: no `file`, no `ftp`, no `data`."""
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
    """Returns the bytes at `url`.

    Raises:
        FetchError: it is not there, is refused, is too large or too slow.
    """
    deadline = time.monotonic() + FETCH_SECONDS
    request = Request(url, headers={"Accept": "application/json", "User-Agent": "spanwise"})  # noqa: S310  # no other scheme is opened
    try:
        with _opener().open(request, timeout=SOCKET_SECONDS) as response:
            return b"".join(_read(response, deadline))
    except HTTPError as error:
        error.close()
        raise FetchError(f"answered {error.code}") from None
    except URLError as error:
        raise FetchError(f"could not be reached: {type(error.reason).__name__}") from None
    except (OSError, HTTPException, ValueError) as error:
        raise FetchError(f"could not be read: {type(error).__name__}") from None


def _read(response: HTTPResponse, deadline: float) -> Iterator[bytes]:
    announced = response.length
    size = 0
    while announced is None or size < announced:
        part = response.read1(65536)
        size += len(part)
        if size > LARGEST_JWKS_BYTES:
            raise FetchError(f"is larger than {LARGEST_JWKS_BYTES} bytes")
        if time.monotonic() > deadline:
            raise FetchError(f"took longer than {FETCH_SECONDS:g} s")
        if not part and announced is not None:
            raise FetchError("ended before its announced length")
        if not part:
            return
        yield part


class JwksUrl:
    """The keys that an address publishes.

    A thread fetches them every minute. A fetch that fails changes nothing: the last good keys stay.
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
            source: where `url` was given, for messages.
            url: the address.
            algorithm: what a key is bound to that has no `alg`.
            fetch: how the bytes at an address are fetched; raises FetchError.
            clock: seconds that only grow.

        Raises:
            ConfigurationError: it cannot be fetched, is no JWKS, or holds no key that is usable.
        """
        self._source = source
        self._url = url
        self._algorithm = algorithm
        self._fetch = fetch
        self._clock = clock
        self._changed = threading.Condition()
        self._waiting: Future[None] | None = None
        self._is_closed = False
        self._text: bytes | None = None
        self._keys: tuple[VerificationKey, ...] = ()
        self._fault = ""
        self._fetched_at = self._attempted_at = clock()
        try:
            self._load()
        except (FetchError, KeyFault) as error:
            raise ConfigurationError(f"the JWKS at the address that {source} gives {error}") from None
        if urlsplit(url).scheme == "http" and urlsplit(url).hostname not in {"localhost", "127.0.0.1", "::1"}:
            _log.warning("%s is not https: whoever is on the way to it can publish keys of their own", source)
        self._thread = threading.Thread(target=self._refresh, name="jwks", daemon=True)
        self._thread.start()

    def keys(self) -> tuple[VerificationKey, ...]:
        """Returns the keys of the last good fetch."""
        return self._keys

    @property
    def age_seconds(self) -> float:
        """Returns how long ago the last good fetch was."""
        return self._clock() - self._fetched_at

    def refetch(self) -> Future[None] | None:
        """Asks for a fetch now: for a key that nobody has seen yet.

        Returns:
            What is done when the fetch is over, well or not; the same for all who ask meanwhile. None if the last
            one is less than a second ago: what it did not bring is not there.
        """
        with self._changed:
            if self._waiting is not None:
                return self._waiting
            if self._is_closed or self._clock() - self._attempted_at < LEAST_SECONDS_BETWEEN_FETCHES:
                return None
            self._waiting = Future()
            self._waiting.set_running_or_notify_cancel()  # one who stops waiting must not stop the others
            self._changed.notify()
            return self._waiting

    def close(self) -> None:
        """Ends the thread; those who wait for a fetch wait no longer."""
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
        fault = ""
        try:
            self._load()
        except (FetchError, KeyFault) as error:
            fault = str(error)
        except Exception as error:  # noqa: BLE001  # whatever happens, the thread goes on and nobody waits for ever
            fault = f"failed: {type(error).__name__}"
        if fault and fault != self._fault:
            _log.error("kept the last good keys: the JWKS at the address that %s gives %s", self._source, fault)
        self._fault = fault

    def _load(self) -> None:
        self._attempted_at = self._clock()
        text = self._fetch(self._url)
        if text != self._text:
            keys = read_jwks(text, self._algorithm, is_ours=False)
            if not keys:
                raise KeyFault("holds no usable key for signatures")
            self._keys, self._text = keys, text
        self._fetched_at = self._clock()
