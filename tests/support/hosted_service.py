"""A service that hosts `support.components`, as tests talk to it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.programs import environment
from support.service import Running

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx


def hosting(folder: Path, *flags: str, module: str = "support.components", **variables: str) -> Running:
    """Returns a service over `folder` that hosts the components of `support.components`, or of another module."""
    variables |= {"HOSTED_CALLS": str(folder / "calls"), "PYTHONPATH": environment()["PYTHONPATH"]}
    return Running(folder / "data", f"{module}:service", *flags, is_ready=True, **variables)


def factory_calls(service: Running) -> list[str]:
    """Returns the calls of factories so far: which one, with what input."""
    calls = service.data_dir.parent / "calls"
    return calls.read_text().splitlines() if calls.exists() else []


def run(service: Running, component: str, message: str = "hi there", **fields: str) -> httpx.Response:
    """Returns the answer to a run of `agents/<id>` and its like, not streamed."""
    headers = fields.pop("headers", None)
    form = {"message": message, "stream": "false", **fields}
    return service.http.post(f"/{component}/runs", data=form, headers=headers)  # type: ignore[arg-type]


def stream(service: Running, component: str, message: str = "hi there", **fields: str) -> list[dict[str, Any]]:
    """Returns the events of a streamed run."""
    form = {"message": message, **fields}
    with service.http.stream("POST", f"/{component}/runs", data=form) as answer:
        assert answer.status_code == 200, answer.read()
        return list(events_of(answer))


SAID_BETWEEN = {"replay", "catch_up", "subscribed"}
"""What is said of a run that is followed again; these are no events of the run."""


def events_of(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    """Gives the events of a run in a stream, without what is said between them."""
    return (event for event in frames_of(answer) if event["event"] not in SAID_BETWEEN)


def frames_of(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    """Gives the events of a stream; each is whole, and says three times what it is."""
    assert answer.headers["content-type"] == "text/event-stream; charset=utf-8"
    text = ""
    for piece in answer.iter_raw():
        text += piece.decode()
        while "\n\n" in text:
            frame, _, text = text.partition("\n\n")
            if frame.startswith(":"):
                continue
            fields = dict(line.split(": ", 1) for line in frame.split("\n"))
            assert list(fields) == ["id", "event", "data"]
            event = json.loads(fields["data"])
            assert event["event"] == fields["event"]
            assert str(event.get("event_index", fields["id"])) == fields["id"]
            yield event
