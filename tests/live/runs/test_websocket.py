"""Workflows over WebSockets: start, continue, reconnect, cancel, and rejected messages."""

from __future__ import annotations

import json
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import pytest
from websockets.exceptions import ConnectionClosed, InvalidStatus

from spanwise.http.websocket.protocol import MAX_MESSAGES_PER_SECOND
from support.clients.websocket import open_websocket
from support.services.hosted import factory_calls, run, start_hosted, stream

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from support.services.process import RunningService


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with start_hosted(tmp_path_factory.mktemp("hosted"), "--cors-origins", "https://listed.example") as service:
        yield service
        assert service.stop() == 0
        assert all(event["level"] in {"info", "warning"} for event in service.events()), service.log.read_text()


def test_a_workflow_runs_as_over_http(hosted: RunningService) -> None:
    with open_websocket(hosted) as socket:
        assert socket.greeting == {
            "event": "connected",
            "message": "Connected to workflow events",
            "requires_auth": False,
        }
        events = socket.run(workflow_id="steps", message="hello", user_id="ann", session_id="s-socket")
    assert [event["event_index"] for event in events] == list(range(len(events)))
    last = events[-1]
    assert (last["event"], last["content"], last["workflow_id"]) == ("WorkflowCompleted", "HELLO \n\nHELLO  ", "steps")
    result = hosted.http.get(f"/workflows/steps/runs/{last['run_id']}").json()
    assert (result["status"], result["user_id"], result["session_id"]) == ("COMPLETED", "ann", "s-socket")
    over_http = stream(hosted, "workflows/steps", "hello")
    assert [event["event"] for event in over_http] == [event["event"] for event in events]


def test_a_socket_of_one_workflow_needs_no_id(hosted: RunningService) -> None:
    with open_websocket(hosted, "/workflows/steps/ws") as socket:
        assert socket.run(message="hello")[-1]["event"] == "WorkflowCompleted"
        assert socket.run(message="hello", workflow_id="steps")[-1]["event"] == "WorkflowCompleted"
        rejected = socket.request("start-workflow", message="hello", workflow_id="slow")
        assert (rejected["error_code"], rejected["workflow_id"]) == ("BAD_REQUEST", "slow")


def test_a_factory_gets_its_input_from_the_message_and_is_continued(hosted: RunningService) -> None:
    before = factory_calls(hosted)
    with open_websocket(hosted) as socket:
        paused = socket.run(workflow_id="built", message="x", factory_input={"a": 1})[-1]
        assert paused["event"] == "WorkflowPaused"
        ids = {"workflow_id": "built", "run_id": paused["run_id"], "session_id": paused["session_id"]}
        answers = [{"confirmation": 7}]
        ended = socket.run("continue-workflow", **ids, step_requirements=answers, factory_input={"a": 2})[-1]
        assert (ended["event"], ended["content"]) == ("WorkflowCompleted", "X: 7")
        again = socket.request("continue-workflow", **ids, step_requirements=answers)
        assert (again["error"], again["error_code"]) == ("run is already completed", "CONFLICT")
        assert socket.request("cancel-workflow", **ids)["event"] == "cancelled"
        assert socket.request("reconnect", **ids)["event"] == "replay"
    assert factory_calls(hosted)[len(before) :] == ['workflow {"a":1}', 'workflow {"a":2}']


REJECTED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no action": ({}, "BAD_REQUEST", "Unknown action: None"),
    "unknown action": ({"action": "x" * 99}, "BAD_REQUEST", "Unknown action: " + "x" * 64),
    "no text": ({"action": ["ping"]}, "BAD_REQUEST", "Unknown action: ['ping']"),
    "no workflow": ({"action": "start-workflow", "message": "x"}, "BAD_REQUEST", "workflow_id is required"),
    "no message": (
        {"action": "start-workflow", "workflow_id": "steps"},
        "VALIDATION_ERROR",
        "Object missing required field `message`",
    ),
    "message is no text": (
        {"action": "start-workflow", "workflow_id": "steps", "message": 1},
        "VALIDATION_ERROR",
        "Expected `str`, got `int` - at `$.message`",
    ),
    "unknown workflow": (
        {"action": "start-workflow", "workflow_id": "nope", "message": "x"},
        "NOT_FOUND",
        "Workflow not found",
    ),
    "an agent": (
        {"action": "start-workflow", "workflow_id": "echo", "message": "x"},
        "NOT_FOUND",
        "Workflow not found",
    ),
    "input is a list": (
        {"action": "start-workflow", "workflow_id": "built", "message": "x", "factory_input": [1]},
        "BAD_REQUEST",
        "factory_input must be a JSON object, got list",
    ),
    "metadata is text": (
        {"action": "start-workflow", "workflow_id": "steps", "message": "x", "metadata": "{}"},
        "BAD_REQUEST",
        "metadata must be a JSON object, got str",
    ),
    "files": (
        {"action": "start-workflow", "workflow_id": "steps", "message": "x", "files": []},
        "BAD_REQUEST",
        "`files` is not supported, so the run was not started",
    ),
    "state of a run that goes on": (
        {"action": "continue-workflow", "run_id": "x", "session_state": {}},
        "BAD_REQUEST",
        "`session_state` is not supported, so the run was not started",
    ),
    "unknown run": (
        {"action": "reconnect", "workflow_id": "steps", "run_id": "nope"},
        "NOT_FOUND",
        "Run nope not found in buffer or database",
    ),
    "unknown run of a factory": (
        {"action": "reconnect", "workflow_id": "built", "run_id": "nope", "session_id": "s"},
        "NOT_FOUND",
        "Run nope not found in buffer or database",
    ),
    "nothing to cancel": ({"action": "cancel-workflow", "run_id": "nope"}, "NOT_FOUND", "Run not found"),
    "nothing to continue": ({"action": "continue-workflow", "run_id": "nope"}, "NOT_FOUND", "Run not found"),
}


@pytest.mark.parametrize("case", REJECTED)
def test_an_invalid_action_is_an_error_event_and_the_socket_stays_open(hosted: RunningService, case: str) -> None:
    message, error_code, error = REJECTED[case]
    with open_websocket(hosted) as socket:
        socket.connection.send(json.dumps(message))
        rejected = socket.receive()
        assert (rejected["event"], rejected["error_code"], rejected["error"]) == ("error", error_code, error)
        assert socket.request("ping") == {"event": "pong"}


@pytest.mark.parametrize("text", ["", "{", "[]", "1", '"ping"', '{"a":' * 5000 + "1" + "}" * 5000, "\ud7ff\x00"])
def test_a_message_that_is_not_a_json_object_is_an_error_event(hosted: RunningService, text: str) -> None:
    with open_websocket(hosted) as socket:
        socket.connection.send(text)
        rejected = socket.receive()
        assert (rejected["event"], rejected["error_code"]) == ("error", "VALIDATION_ERROR")
        assert socket.request("ping") == {"event": "pong"}


@pytest.mark.parametrize(
    ("message", "code"),
    [(b'{"action": "ping"}', 1003), ('{"action": "ping", "x": "' + "x" * 1024 * 1024 + '"}', 1009)],
    ids=["binary", "too large"],
)
def test_an_unreadable_message_closes_the_socket(hosted: RunningService, message: str | bytes, code: int) -> None:
    with open_websocket(hosted) as socket:
        # The length alone makes the service close the socket, possibly before the client has sent the rest.
        with suppress(ConnectionClosed):
            socket.connection.send(message)
        assert socket.close_code() == code
    assert hosted.http.get("/health").is_success


def test_a_message_of_the_largest_size_is_read(hosted: RunningService) -> None:
    message = '{"action": "ping", "x": ""}'
    with open_websocket(hosted) as socket:
        socket.connection.send(message.replace('""', '"' + "x" * (1024 * 1024 - len(message)) + '"'))
        assert socket.receive() == {"event": "pong"}


def test_a_flood_of_messages_closes_the_socket(hosted: RunningService) -> None:
    with open_websocket(hosted) as socket:
        # One more than the limit. Bytes after the close would reset the connection and lose its code.
        for _ in range(MAX_MESSAGES_PER_SECOND + 1):
            socket.send("ping")
        assert socket.close_code() == 1008
    assert hosted.http.get("/health").is_success


@pytest.mark.parametrize(
    ("origin", "status"),
    [
        ("https://evil.example", 403),
        ("null", 403),
        ("http://127.0.0.1:1", 403),
        ("ours", 101),
        ("https://listed.example", 101),
    ],
)
def test_a_page_of_a_foreign_origin_opens_no_socket(hosted: RunningService, origin: str, status: int) -> None:
    try:
        with open_websocket(hosted, origin=hosted.url if origin == "ours" else origin) as socket:
            assert socket.greeting["event"] == "connected"
            found = 101
    except InvalidStatus as rejected:
        found = rejected.response.status_code
    assert found == status


@pytest.mark.parametrize(
    "path", ["/ws", "/workflows/steps/ws/", "/workflows/steps/ws%0A", "/agents/echo/ws", "/health"]
)
def test_a_path_without_a_websocket_is_rejected(hosted: RunningService, path: str) -> None:
    with pytest.raises(InvalidStatus), open_websocket(hosted, path):
        pass
    assert hosted.http.get("/health").is_success


def test_one_socket_more_than_the_share_of_a_caller_is_503(tmp_path: Path) -> None:
    """A single caller gets three quarters of the sockets."""
    with start_hosted(tmp_path, "--max-websockets", "4") as service, ExitStack() as sockets:
        for _ in range(3):
            last = sockets.enter_context(open_websocket(service))
        with pytest.raises(InvalidStatus) as rejected, open_websocket(service):
            pass
        assert rejected.value.response.status_code == 503
        assert json.loads(rejected.value.response.body)["error_code"] == "SERVICE_UNAVAILABLE"
        last.connection.close()
        time.sleep(0.2)
        sockets.enter_context(open_websocket(service))


def test_a_run_is_resumed_from_an_index(hosted: RunningService) -> None:
    with open_websocket(hosted) as socket:
        events = socket.run(workflow_id="steps", message="hello")
        run_id = events[0]["run_id"]
        for after in (-1, 0, 4, len(events) - 2):
            found = socket.run("reconnect", run_id=run_id, last_event_index=after)
            assert (found[0]["event"], found[0]["status"], found[0]["total_events"]) == (
                "replay",
                "COMPLETED",
                len(events),
            )
            assert found[1:] == events[after + 1 :]
        for after in (len(events) - 1, 10**6):
            assert socket.request("reconnect", run_id=run_id, last_event_index=after)["event"] == "replay"
        assert socket.request("ping") == {"event": "pong"}


@pytest.mark.parametrize("after", [2**53 + 1, 2**63 - 1, 2**63, 2**64])
def test_an_index_that_no_event_can_have_is_rejected(hosted: RunningService, after: int) -> None:
    with open_websocket(hosted) as socket:
        run_id = socket.run(workflow_id="steps", message="hello")[0]["run_id"]
        rejected = socket.request("reconnect", run_id=run_id, last_event_index=after)
        assert (rejected["event"], "`$.last_event_index`" in rejected["error"]) == ("error", True)
        assert socket.request("ping") == {"event": "pong"}


def test_a_member_given_twice_is_rejected(hosted: RunningService) -> None:
    with open_websocket(hosted) as socket:
        socket.connection.send('{"action":"start-workflow","workflow_id":"steps","workflow_id":"soon","message":"x"}')
        assert "`workflow_id` is given twice" in socket.receive()["error"]


def test_a_run_outlives_its_socket_and_another_one_resumes_it(hosted: RunningService) -> None:
    with open_websocket(hosted) as socket:
        socket.send("start-workflow", workflow_id="soon", message="x")
        first = socket.receive()
        run_id = first["run_id"]
        while socket.receive()["event"] != "RunContent":
            pass
    with open_websocket(hosted, "/workflows/soon/ws") as socket:
        missed = socket.request("reconnect", run_id=run_id, last_event_index=0)
        assert (missed["event"], missed["status"]) == ("catch_up", "running")
        found = socket.receive_until_end()
    names = [event["event"] for event in found]
    assert names[missed["missed_events"]] == "subscribed"
    assert names[-1] == "WorkflowCompleted"
    indexes = [event["event_index"] for event in found if event["event"] != "subscribed"]
    assert indexes == list(range(1, len(indexes) + 1))


def test_a_run_is_cancelled_while_it_is_followed(hosted: RunningService) -> None:
    with open_websocket(hosted) as socket:
        socket.send("start-workflow", workflow_id="slow", message="x")
        run_id = socket.receive()["run_id"]
        begun = time.monotonic()
        socket.send("cancel-workflow", workflow_id="slow", run_id=run_id)
        received = [socket.receive()]
        while {"cancelled", "WorkflowCancelled"} - {event["event"] for event in received}:
            received.append(socket.receive())
        assert time.monotonic() - begun < 10
        assert socket.request("cancel-workflow", run_id=run_id)["event"] == "cancelled"
    assert hosted.http.get(f"/workflows/slow/runs/{run_id}").json()["status"] == "CANCELLED"


def test_runs_of_one_socket_do_not_wait_for_each_other(hosted: RunningService) -> None:
    with open_websocket(hosted) as socket:
        socket.send("start-workflow", workflow_id="slow", message="x")
        slow = socket.receive()["run_id"]
        socket.send("start-workflow", workflow_id="steps", message="hello")
        while (received := socket.receive())["event"] != "WorkflowCompleted":
            pass
        assert received["run_id"] != slow
        assert socket.request("ping") == {"event": "pong"}
        socket.send("cancel-workflow", run_id=slow)


@pytest.mark.slow
def test_a_silent_socket_is_closed_whatever_its_ping_frames_say(hosted: RunningService) -> None:
    with open_websocket(hosted) as silent, open_websocket(hosted) as listening:
        listening.send("start-workflow", workflow_id="slow", message="x")
        run_id = listening.receive()["run_id"]
        for _ in range(10_000):
            silent.connection.ping()
        assert silent.close_code() == 1001
        assert listening.request("cancel-workflow", run_id=run_id)["event"]


def test_one_run_too_many_in_a_socket_is_rejected(hosted: RunningService) -> None:
    with open_websocket(hosted) as socket:
        for _ in range(33):
            socket.send("start-workflow", workflow_id="slow", message="x", session_id="s-many")
        while (received := socket.receive())["event"] != "error":
            pass
        assert received["error_code"] == "SERVICE_UNAVAILABLE"
    for begun in hosted.http.get("/workflows/slow/runs?session_id=s-many").json():
        hosted.http.post(f"/workflows/slow/runs/{begun['run_id']}/cancel").raise_for_status()


def test_what_was_run_before_a_crash_is_replayed_after_it(tmp_path: Path) -> None:
    with start_hosted(tmp_path) as before:
        with open_websocket(before) as socket:
            events = socket.run(workflow_id="steps", message="hello")
            socket.send("start-workflow", workflow_id="slow", message="x")
            unfinished = socket.receive()["run_id"]
            while socket.receive()["event"] != "RunContent":
                pass
            time.sleep(0.5)
        before.kill()
    with start_hosted(tmp_path) as after, open_websocket(after) as socket:
        assert socket.run("reconnect", run_id=events[0]["run_id"], workflow_id="steps")[1:] == events
        found = socket.run("reconnect", run_id=unfinished, workflow_id="slow")
        assert (found[0]["status"], found[-1]["event"]) == ("ERROR", "WorkflowError")


def test_sockets_end_with_the_service(tmp_path: Path) -> None:
    with start_hosted(tmp_path) as service, open_websocket(service) as idle, open_websocket(service) as busy:
        busy.send("start-workflow", workflow_id="soon", message="x")
        busy.receive()
        begun = time.monotonic()
        service.process.terminate()
        assert idle.close_code() == 1001
        assert time.monotonic() - begun < 5
        assert busy.receive_until_end()[-1]["event"] in {"WorkflowCompleted", "WorkflowError"}
        assert busy.close_code() == 1001
        assert service.process.wait(15) == 0, service.log.read_text()


def test_fields_of_a_run_are_heeded(hosted: RunningService) -> None:
    given = {"session_state": {"seen": 1}, "dependencies": {"city": "Lisbon"}, "metadata": {"tag": "t"}}
    as_text = {name: json.dumps(value) for name, value in given.items()}
    over_http = run(hosted, "workflows/told", "x", session_id="s-told-1", **as_text).json()
    assert over_http["metadata"].pop("trace_id")
    assert (over_http["content"], over_http["metadata"]) == (
        '{"seen": 1} {"city": "Lisbon"} {"tag": "t"}',
        {"tag": "t"},
    )
    assert hosted.http.get("/sessions/s-told-1").json()["session_state"] == {"seen": 1}
    with open_websocket(hosted) as socket:
        ids = {"workflow_id": "told", "session_id": "s-told-2"}
        assert socket.run("start-workflow", message="x", **ids, **given)[-1]["content"] == over_http["content"]
        quiet = socket.run(workflow_id="steps", message="hello", stream_events=False)
    assert {event["event"] for event in quiet} == {"RunContent", "TeamRunContent", "WorkflowCompleted"}
