"""A service that hosts `support.apps.components`, and run requests for it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from support.programs import environment
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import httpx


def start_hosted(
    folder: Path, *flags: str, module: str = "support.apps.components", **variables: str
) -> RunningService:
    """Starts a service over `folder` that hosts the components of `module`."""
    variables |= {"HOSTED_CALLS": str(folder / "calls"), "PYTHONPATH": environment()["PYTHONPATH"]}
    return RunningService(folder / "data", f"{module}:service", *flags, is_ready=True, **variables)


def factory_calls(service: RunningService) -> list[str]:
    """Returns the calls of factories so far, each as `NAME INPUT`."""
    calls = service.data_dir.parent / "calls"
    return calls.read_text().splitlines() if calls.exists() else []


def run(service: RunningService, component: str, message: str = "hi there", **fields: str) -> httpx.Response:
    """Runs `agents/<id>`, `teams/<id>` or `workflows/<id>` without streaming and returns the response."""
    headers = fields.pop("headers", None)
    form = {"message": message, "stream": "false", **fields}
    return service.http.post(f"/{component}/runs", data=form, headers=headers)  # type: ignore[arg-type]


def stream(service: RunningService, component: str, message: str = "hi there", **fields: str) -> list[dict[str, Any]]:
    """Returns the events of a streamed run."""
    form = {"message": message, **fields}
    with service.http.stream("POST", f"/{component}/runs", data=form) as answer:
        assert answer.status_code == 200, answer.read()
        return list(run_events(answer))


SUBSCRIPTION_EVENTS = {"replay", "catch_up", "subscribed"}
"""Events of a resumed stream that concern the subscription, not the run."""


def run_events(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    """Yields the events of a run in a stream, without subscription events."""
    return (event for event in stream_events(answer) if event["event"] not in SUBSCRIPTION_EVENTS)


def stream_events(answer: httpx.Response) -> Iterator[dict[str, Any]]:
    """Yields the events of a stream, and checks that the frame of each agrees with its data."""
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
