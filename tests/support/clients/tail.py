"""A client of `POST /traces/tail`."""

from __future__ import annotations

import json
import socket
import threading
from contextlib import contextmanager, suppress
from queue import Empty, Queue
from typing import TYPE_CHECKING, Any, NamedTuple

import httpx
import msgspec

from spanwise.api.tail import TailDropped, TailEnd, TailGap, TailStarted, TailTrace

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.services.process import RunningService


SHAPES = {"started": TailStarted, "trace": TailTrace, "dropped": TailDropped, "gap": TailGap, "end": TailEnd}
"""The documented data of each event."""


class Event(NamedTuple):
    """One event; `id` is empty without an id."""

    id: str
    name: str
    data: dict[str, Any]


class TailClient:
    """An open tail whose events a thread reads."""

    def __init__(self, response: httpx.Response) -> None:
        """Starts to read."""
        self.response = response
        self.last_id = ""
        self._events: Queue[Event | None] = Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self) -> None:
        try:
            for event in events_of(self.response):
                self._events.put(event)
        except (httpx.HTTPError, httpx.StreamError):
            pass  # some tests cut the connection
        finally:
            self._events.put(None)

    def next(self, seconds: float = 20.0) -> Event | None:
        """Returns the next event; None at the end."""
        event = self._events.get(timeout=seconds)
        if event is not None and event.id:
            self.last_id = event.id
        return event

    def trace(self) -> dict[str, Any]:
        """Returns the data of the next event. Fails unless it is a trace."""
        event = self.next()
        assert event is not None
        assert event.name == "trace", event
        return event.data

    def until(self, name: str) -> list[Event]:
        """Returns the events up to the first of this name."""
        found: list[Event] = []
        while not found or found[-1].name != name:
            event = self.next()
            assert event is not None, found
            found.append(event)
        return found

    def rest(self, seconds: float) -> list[Event]:
        """Returns the events of the next seconds."""
        found: list[Event] = []
        try:
            while (event := self.next(seconds)) is not None:
                found.append(event)
        except Empty:
            pass
        return found


def events_of(response: httpx.Response) -> Iterator[Event]:
    """Yields the events of a stream, without comments. Checks the form of each."""
    text = b""
    for piece in response.iter_raw():
        text += piece
        while b"\n\n" in text:
            frame, _, text = text.partition(b"\n\n")
            if frame.startswith(b":"):
                continue
            fields = dict(line.split(": ", 1) for line in frame.decode().split("\n"))
            assert [name for name in fields if name != "id"] == ["event", "data"], frame
            name, data = fields["event"], json.loads(fields["data"])
            msgspec.convert(data, SHAPES[name])
            assert data.keys() <= set(SHAPES[name].__struct_fields__)
            yield Event(fields.get("id", ""), name, data)


@contextmanager
def tail(
    service: RunningService,
    headers: dict[str, str] | None = None,
    *,
    last_id: str | None = None,
    resumes: bool = False,
    **body: object,
) -> Iterator[TailClient]:
    """Opens a tail and reads `started`, which must report whether it resumes."""
    sent = (headers or {}) | ({"Last-Event-ID": last_id} if last_id is not None else {})
    with httpx.stream("POST", f"{service.url}/traces/tail", json=body, headers=sent, timeout=60) as response:
        assert response.status_code == 200, response.read()
        client = TailClient(response)
        started = client.next()
        assert started is not None
        assert (started.name, started.data) == ("started", {"resumed": resumes})
        try:
            yield client
        finally:
            # A thread's read keeps the socket open until the next heartbeat.
            with suppress(OSError):
                response.extensions["network_stream"].get_extra_info("socket").shutdown(socket.SHUT_RDWR)
