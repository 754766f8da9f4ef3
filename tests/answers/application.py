"""The public HTTP application in this process, called without a network."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from spanwise import AuthorizationConfig, Service
from support.clients.tokens import as_admin, as_caller, signing_key

if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from pathlib import Path

ADMIN = "root"
"""The caller that sees all traces."""
WITHOUT_SCOPES = "without scopes"
"""The caller that may do nothing."""
_JSON = {"Content-Type": "application/json"}
_INDEX_KINDS = ("spans", "texts", "attributes")
_SETTLE_SECONDS = 60
_LARGEST_TEXT = 1 << 20
"""A longer response is recorded as its digest."""


class Request(Struct, frozen=True):
    """A request. `body` is JSON text, or empty for a `GET`."""

    kind: str
    caller: str
    method: str
    target: str
    body: str = ""


class Answer(Struct, frozen=True, omit_defaults=True):
    """A response without its volatile members.

    Attributes:
        status: its status.
        media_type: its content type.
        text: its body; of one that is long or not text, the number of bytes and the SHA-256.
        is_complete: False if it ended early, as a download does that fails. Then there is no text.
    """

    status: int
    media_type: str = ""
    text: str = ""
    is_complete: bool = True


class Application:
    """An open service."""

    def __init__(self, service: Service) -> None:
        self._app = service.app
        self._headers: dict[str, dict[str, str]] = {}

    async def send(self, request: Request) -> Answer:
        """Returns the answer to a request."""
        status, sent, body, is_complete = await self._call(request, _JSON)
        media_type = sent.get("content-type", "")
        return Answer(status, media_type, _shown(status, media_type, body) if is_complete else "", is_complete)

    async def read(self, method: str, target: str, body: str = "") -> bytes:
        """Returns the body of a successful response to the administrator."""
        return await self.post_bytes(target, body.encode(), method)

    async def post_bytes(
        self, target: str, body: bytes, method: str = "POST", headers: dict[str, str] | None = None
    ) -> bytes:
        """As `read`, with a body of bytes."""
        request = Request("", ADMIN, method, target)
        status, _, received, is_complete = await self._call(request, headers or _JSON, body)
        assert status == 200, (target, status, received)
        assert is_complete, target
        return received

    async def waiting_segments(self) -> int:
        """Returns the number of indexes that segments lack, of every kind together."""
        metrics = (await self.read("GET", "/metrics")).decode()
        kinds = "|".join(_INDEX_KINDS)
        counts = re.findall(rf"^spanwise_store_segments_without_(?:{kinds})\{{[^}}]*\}} (\S+)$", metrics, re.MULTILINE)
        return sum(int(float(count)) for count in counts)

    async def settle(self, expected: int) -> bool:
        """Waits until segments lack this number of indexes. Returns False if that does not happen."""
        for _ in range(_SETTLE_SECONDS * 10):
            if await self.waiting_segments() == expected:
                return True
            await asyncio.sleep(0.1)
        return False

    async def _call(
        self, request: Request, headers: dict[str, str], body: bytes | None = None
    ) -> tuple[int, dict[str, str], bytes, bool]:
        path, _, query = request.target.partition("?")
        lines = {"host": "localhost", **headers, **self._authorization(request.caller)}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": request.method,
            "scheme": "http",
            "path": path,
            "raw_path": path.encode(),
            "query_string": query.encode(),
            "root_path": "",
            "headers": [(name.lower().encode(), value.encode()) for name, value in lines.items()],
            "client": ("127.0.0.1", 50_000),
            "server": ("localhost", 80),
        }
        exchange = _Exchange(request.body.encode() if body is None else body)
        try:
            await self._app(scope, exchange.receive, exchange.send)
        except Exception:  # noqa: BLE001  # a server ends the response after any failure
            exchange.is_complete = False
        return exchange.status, exchange.headers, b"".join(exchange.parts), exchange.is_complete

    def _authorization(self, caller: str) -> dict[str, str]:
        if caller not in self._headers:
            scopes = () if caller == WITHOUT_SCOPES else ("traces:read", "traces:delete")
            self._headers[caller] = as_admin() if caller == ADMIN else as_caller(caller, *scopes)
        return self._headers[caller]


class _Exchange:
    """One request and its response."""

    def __init__(self, body: bytes) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.parts: list[bytes] = []
        self.is_complete = False
        self._body: bytes | None = body

    async def receive(self) -> dict[str, Any]:
        if self._body is None:
            await asyncio.Event().wait()  # the client stays connected
        body, self._body = self._body, None
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(self, message: Any) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.headers = {name.decode().lower(): value.decode() for name, value in message["headers"]}
        elif message["type"] == "http.response.body":
            self.parts.append(message.get("body", b""))
            self.is_complete = not message.get("more_body", False)


def _shown(status: int, media_type: str, body: bytes) -> str:
    is_text = media_type.startswith(("application/json", "application/x-ndjson", "text/"))
    if is_text:
        body = _steady(status, body)
    if not is_text or len(body) > _LARGEST_TEXT:
        return f"{len(body)} bytes, SHA-256 {sha256(body).hexdigest()}"
    return body.decode()


def _steady(status: int, body: bytes) -> bytes:
    """Returns a body without the members that differ between equal requests."""
    # A quotation mark inside a JSON string is escaped, so this matches no content of a trace.
    body = re.sub(rb'"search_time_ms":[0-9.eE+-]+', b'"search_time_ms":0', body)
    return re.sub(rb'"request_id":"[^"]*"', b'"request_id":""', body) if status >= 500 else body


@asynccontextmanager
async def running(folder: Path, **settings: Any) -> AsyncIterator[Application]:
    """Opens the service of a data folder, with authorization."""
    keys = AuthorizationConfig(verification_keys=[signing_key().public_text or ""])
    # A slow machine must not change an answer.
    patient = {"search_deadline_seconds": 3600.0, "min_free_bytes": 0}
    service = Service(
        authorization=True,
        authorization_config=keys,
        settings={"data_dir": str(folder), **patient, **settings},
    )
    await service.open()
    try:
        yield Application(service)
    finally:
        await service.close()
