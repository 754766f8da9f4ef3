"""A rejected request leaves no body that only the garbage collector would free."""

from __future__ import annotations

import asyncio
import gc
from typing import TYPE_CHECKING, Any

import pytest

from spanwise import Service
from spanwise.components import Workflow

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from starlette.types import ASGIApp, Message

HOST = {"Host": "localhost"}
SIZE = 1024 * 1024
PROTOBUF = {"Content-Type": "application/x-protobuf"}
JSON = {"Content-Type": "application/json"}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.set_debug(0)
    gc.garbage.clear()
    gc.enable()


def left_behind() -> list[int]:
    """Returns the sizes of large byte strings that only the garbage collector frees."""
    gc.set_debug(gc.DEBUG_SAVEALL)
    gc.collect()
    referents = gc.get_referents(*gc.garbage)
    return [len(each) for each in referents if isinstance(each, bytes | bytearray) and len(each) >= SIZE // 4]


async def ask(app: ASGIApp, path: str, headers: dict[str, str], begins: bytes) -> int:
    """Returns the status of the response to a large body that only the service references."""
    sent: list[Message] = []
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(name.lower().encode(), value.encode()) for name, value in {**HOST, **headers}.items()],
        "client": ("127.0.0.1", 1),
    }
    parts = iter(range(4))

    async def receive() -> Message:
        part = next(parts, None)
        if part is None:
            await asyncio.sleep(3600)
        if part == 0:
            return {"type": "http.request", "body": begins, "more_body": True}
        return {"type": "http.request", "body": begins[-1:] * (SIZE // 3), "more_body": part != 3}

    async def send(message: Message) -> None:
        sent.append(message)

    await app(scope, receive, send)
    status: int = sent[0]["status"]
    return status


@pytest.mark.usefixtures("uncollected")
@pytest.mark.parametrize(
    ("body", "settings", "status"),
    [
        (("/v1/traces", PROTOBUF, b"\xff"), {}, 400),
        (("/v1/traces", JSON, b"["), {}, 400),
        (("/v1/traces", PROTOBUF | {"Content-Encoding": "gzip"}, b"\xff"), {}, 400),
        (("/v1/traces", {"Content-Type": "text/plain"}, b"a"), {}, 415),
        (("/v1/traces", PROTOBUF, b"\xff"), {"max_ingest_body_bytes": SIZE // 2}, 413),
        (("/v1/traces", PROTOBUF, b"\xff"), {"ingest_buffer_bytes": 1}, 503),
        (("/traces/search", JSON, b"["), {"max_search_body_bytes": 2 * SIZE}, 422),
        (("/traces/search", JSON, b'{"filter":{"op":"NO"}} '), {"max_search_body_bytes": 2 * SIZE}, 400),
        (("/workflows/upper/runs", FORM, b"=&"), {}, 400),
        (("/workflows/upper/runs", FORM, b"message=a"), {}, 400),
        (("/workflows/none/runs", FORM, b"message=a"), {}, 404),
    ],
)
def test_a_rejected_request_leaves_no_garbage(
    tmp_path: Path, body: tuple[str, dict[str, str], bytes], settings: dict[str, Any], status: int
) -> None:
    async def rejected() -> None:
        service = Service(
            workflows=[Workflow([str.upper], id="upper")],
            callers="open",
            settings={"data_dir": str(tmp_path), **settings},
        )
        await service.open()
        assert [await ask(service.app, *body) for _ in range(3)] == [status] * 3
        found = left_behind()
        await service.close()
        assert found == []

    asyncio.run(rejected())
