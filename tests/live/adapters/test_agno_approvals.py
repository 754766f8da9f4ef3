"""Approvals over HTTP: an agno run waits, an administrator decides, the run continues. Responses match agno's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.clients.tokens import as_admin, as_caller, jwks_file
from support.services.adapted import start_adapted
from support.services.hosted import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.services.process import RunningService

READ, WRITE, DELETE, RUN = "approvals:read", "approvals:write", "approvals:delete", "agents:run"
SCOPES = (READ, WRITE, DELETE, RUN)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("guarded")
    with start_adapted(folder, "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as service:
        service.wait_until_ready()
        yield service
        assert service.stop() == 0


def waiting(
    service: RunningService, headers: dict[str, str] | None = None, **fields: str
) -> tuple[str, dict[str, Any]]:
    """Starts a run that waits for an administrator. Returns the path of the run and its approval."""
    paused = run(service, "agents/keeper", "launch", headers=headers, **fields).json()  # type: ignore[arg-type]
    assert paused["status"] == "PAUSED"
    found = service.http.get("/approvals", params={"run_id": paused["run_id"]}, headers=headers or {}).json()
    [approval] = found["data"]
    assert (found["meta"]["total_count"], found["meta"]["limit"]) == (1, 100)
    return f"/agents/keeper/runs/{paused['run_id']}", approval


def continued(service: RunningService, path: str, headers: dict[str, str] | None = None) -> Any:
    return service.http.post(f"{path}/continue", data={"stream": "false"}, headers=headers or {})


@pytest.mark.parametrize(
    ("status", "content"), [("approved", "it is: launched"), ("rejected", "it is: ")], ids=["approved", "rejected"]
)
def test_a_decision_lets_the_run_go_on(adapted: RunningService, status: str, content: str) -> None:
    path, approval = waiting(adapted, user_id="ann", session_id="waits")
    assert (approval["tool_name"], approval["approval_type"], approval["user_id"]) == ("launch", "required", "ann")
    assert (approval["agent_id"], approval["session_id"], approval["status"]) == ("keeper", "waits", "pending")
    url = f"/approvals/{approval['id']}"
    assert continued(adapted, path).status_code == 403
    assert adapted.http.get(url).json() == approval
    assert adapted.http.get(f"{url}/status").json() == {
        "approval_id": approval["id"],
        "status": "pending",
        "run_id": approval["run_id"],
    }
    before = adapted.http.get("/approvals/count").json()["count"]
    decided = adapted.http.post(f"{url}/resolve", json={"status": status, "resolved_by": "root"}).json()
    assert (decided["status"], decided["resolved_by"], decided["id"]) == (status, "root", approval["id"])
    assert adapted.http.get("/approvals/count").json()["count"] == before - 1
    assert adapted.http.get(f"{url}/status").json()["resolved_at"] == decided["resolved_at"]
    again = adapted.http.post(f"{url}/resolve", json={"status": "approved"})
    assert (again.status_code, again.json()["detail"]) == (
        409,
        f"Approval is already '{status}' and cannot be resolved",
    )
    result = continued(adapted, path).json()
    assert result["status"] == "COMPLETED"
    assert result["content"].startswith(content)
    assert ("launched" in result["content"]) == (status == "approved")
    assert adapted.http.delete(url).status_code == 204
    assert [adapted.http.delete(url).status_code, adapted.http.get(url).status_code] == [404, 404]


@pytest.mark.parametrize(
    ("body", "place"),
    [
        ({}, "status"),
        ({"status": "pending"}, "$.status"),
        ({"status": "approved", "resolved_by": 7}, "$.resolved_by"),
        ({"status": "approved", "resolved_by": "x" * 256}, "$.resolved_by"),
        ({"status": "approved", "resolution_data": []}, "$.resolution_data"),
    ],
)
def test_a_decision_has_its_shape(adapted: RunningService, body: dict[str, Any], place: str) -> None:
    response = adapted.http.post("/approvals/any/resolve", json=body)
    assert response.status_code == 422
    assert place in response.json()["detail"]


@pytest.mark.parametrize("query", ["status=open", "approval_type=x", "page=0", "page=101", "limit=0", "limit=1001"])
def test_a_listing_has_its_shape(adapted: RunningService, query: str) -> None:
    assert adapted.http.get(f"/approvals?{query}").status_code == 422


def test_an_unknown_one_is_404(adapted: RunningService) -> None:
    statuses = [
        adapted.http.get("/approvals/none").status_code,
        adapted.http.get("/approvals/none/status").status_code,
        adapted.http.post("/approvals/none/resolve", json={"status": "approved"}).status_code,
        adapted.http.delete("/approvals/none").status_code,
    ]
    assert statuses == [404] * 4


def test_nobody_approves_what_they_asked_for(guarded: RunningService) -> None:
    ann, bob = as_caller("ann", *SCOPES), as_caller("bob", *SCOPES)
    path, approval = waiting(guarded, ann)
    url, body = f"/approvals/{approval['id']}", {"status": "approved", "resolved_by": "ann"}
    assert guarded.http.get(url, headers=ann).status_code == 200
    assert guarded.http.get(url, headers=bob).status_code == 404
    assert guarded.http.get(f"{url}/status", headers=bob).status_code == 404
    for caller in (ann, bob):
        assert guarded.http.post(f"{url}/resolve", json=body, headers=caller).status_code == 404
        assert guarded.http.delete(url, headers=caller).status_code == 404
    for params in ({}, {"user_id": "ann"}):
        assert guarded.http.get("/approvals", params=params, headers=bob).json()["data"] == []
        assert guarded.http.get("/approvals/count", params=params, headers=bob).json() == {"count": 0}
    assert guarded.http.get("/approvals/count", headers=ann).json() == {"count": 1}
    assert continued(guarded, path, ann).status_code == 403
    decided = guarded.http.post(f"{url}/resolve", json=body, headers=as_admin()).json()
    assert decided["resolved_by"] == "root"
    assert continued(guarded, path, ann).json()["content"] == "it is: launched"


@pytest.mark.parametrize(
    ("method", "path", "scope"),
    [
        ("GET", "/approvals", READ),
        ("GET", "/approvals/count", READ),
        ("GET", "/approvals/none", READ),
        ("GET", "/approvals/none/status", READ),
        ("POST", "/approvals/none/resolve", WRITE),
        ("DELETE", "/approvals/none", DELETE),
    ],
)
def test_a_route_needs_its_scope(guarded: RunningService, method: str, path: str, scope: str) -> None:
    body = {"json": {"status": "approved"}} if method == "POST" else {}
    others = as_caller("ann", *({*SCOPES} - {scope}), scope.replace(":", ":none:"))
    assert guarded.http.request(method, path, headers=others, **body).status_code == 403  # type: ignore[arg-type]
    assert guarded.http.request(method, path, headers=as_caller("ann", scope), **body).status_code in {200, 404}  # type: ignore[arg-type]


def test_without_isolation_a_holder_of_the_scope_decides(tmp_path: Any) -> None:
    flags = ("--authorization", "--no-jwt-user-isolation")
    with start_adapted(tmp_path, *flags, JWT_JWKS_FILE=jwks_file(tmp_path)) as service:
        service.wait_until_ready()
        path, approval = waiting(service, as_caller("ann", READ, RUN))
        judge = as_caller("judge", WRITE)
        body = {"status": "approved", "resolved_by": "somebody else"}
        decided = service.http.post(f"/approvals/{approval['id']}/resolve", json=body, headers=judge).json()
        assert decided["resolved_by"] == "judge"
        assert continued(service, path, as_caller("ann", RUN)).json()["status"] == "COMPLETED"
