"""Responses about hosted components agree with their documented models."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from spanwise.api.components import Hosted, Model
from spanwise.api.runs import AgentRun, Begun, Run, TeamRun, WorkflowRun
from spanwise.api.service import Config
from spanwise.api.sessions import SessionDetail, SessionList
from spanwise.components import Kind
from support.services.hosted import run

if TYPE_CHECKING:
    from support.services.process import RunningService

RUN = {Kind.AGENT: AgentRun, Kind.TEAM: TeamRun, Kind.WORKFLOW: WorkflowRun}
ANSWERED = {
    Kind.AGENT: ["weather", "echo", "asking", "built"],
    Kind.TEAM: ["route", "broadcast", "built"],
    Kind.WORKFLOW: ["steps", "built"],
}
CASES = [(kind, component) for kind, components in ANSWERED.items() for component in components]


def decode_strictly(response: bytes, shape: Any) -> Any:
    """Decodes a response as a type, and asserts that it has no further members."""
    decoded = msgspec.json.decode(response, type=shape)
    again = {name: value for name, value in msgspec.to_builtins(decoded).items() if value is not None}
    assert again == {name: value for name, value in msgspec.json.decode(response).items() if value is not None}
    return decoded


@pytest.mark.parametrize(("kind", "component"), CASES)
def test_a_run_agrees_with_its_model(hosted: RunningService, kind: Kind, component: str) -> None:
    url = f"/{kind}s/{component}/runs"
    session_id = f"s-{kind}-{component}"
    response = run(hosted, f"{kind}s/{component}", "hello", session_id=session_id, user_id="ann")
    found = decode_strictly(response.content, RUN[kind])
    decode_strictly(hosted.http.get(f"{url}/{found.run_id}").content, RUN[kind])
    listed = hosted.http.get(url, params={"session_id": session_id})
    assert len(msgspec.json.decode(listed.content, type=list[RUN[kind]])) == 1  # type: ignore[valid-type]
    assert len(msgspec.json.decode(hosted.http.get(f"/sessions/{session_id}/runs").content, type=list[Run])) == 1
    decode_strictly(hosted.http.get(f"/sessions/{session_id}").content, SessionDetail)
    decode_strictly(run(hosted, f"{kind}s/{component}", "x", background="true").content, Begun)


def test_hosted_components_agree_with_their_model(hosted: RunningService) -> None:
    for kind in Kind:
        listed = hosted.http.get(f"/{kind}s").content
        for one in msgspec.json.decode(listed, type=list[Hosted]):
            decode_strictly(hosted.http.get(f"/{kind}s/{one.id}").content, Hosted)
    decode_strictly(hosted.http.get("/config").content, Config)
    assert msgspec.json.decode(hosted.http.get("/models").content, type=list[Model])
    assert decode_strictly(hosted.http.get("/sessions").content, SessionList).data


def test_factory_inputs_are_described_to_everybody_without_authorization(hosted: RunningService) -> None:
    schemas = hosted.http.get("/openapi.json").json()["components"]["schemas"]
    assert schemas["agent.sized.input"]["properties"] == {"size": {"type": "integer"}}
