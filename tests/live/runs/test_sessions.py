"""Sessions over HTTP: created, listed, read, renamed, changed and deleted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.services.hosted import run

if TYPE_CHECKING:
    import httpx

    from support.services.process import RunningService


def ids(response: httpx.Response) -> list[str]:
    assert response.status_code == 200, response.text
    return [each["session_id"] for each in response.json()["data"]]


def test_a_session_is_listed_by_its_attributes(hosted: RunningService) -> None:
    for number, name in enumerate(["Äpfel", "birnen", "apfel"]):
        body = {"session_id": f"listed-{number}", "session_name": name, "user_id": "lister", "agent_id": "echo"}
        assert hosted.http.post("/sessions", json=body).status_code == 201
    run(hosted, "teams/route", "a b", session_id="listed-3", user_id="lister")

    def listed(**query: Any) -> list[str]:
        return ids(hosted.http.get("/sessions", params={"user_id": "lister", **query}))

    assert set(listed()) == {f"listed-{number}" for number in range(4)}
    assert listed(type="team") == ["listed-3"]
    assert listed(component_id="route") == ["listed-3"]
    assert listed(session_name="ÄPF") == ["listed-0"]
    assert listed(session_name="APF") == ["listed-2"]
    by_name = {"sort_by": "session_name", "sort_order": "asc"}
    assert listed(**by_name) == ["listed-3", "listed-2", "listed-1", "listed-0"]
    assert listed(**by_name, limit=3, page=2) == ["listed-0"]
    assert listed(**by_name, page=9) == []
    meta = hosted.http.get("/sessions", params={"user_id": "lister", "limit": 3, "page": 2}).json()["meta"]
    assert meta.pop("search_time_ms") >= 0
    assert meta == {"page": 2, "limit": 3, "total_pages": 2, "total_count": 4}


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("type=animal", 422),
        ("sort_by=user_id", 422),
        ("sort_order=up", 422),
        ("page=0", 422),
        ("page=1.5", 422),
        ("limit=101", 422),
        ("limit=1&limit=2", 422),
        ("table=other", 422),
        ("db_id=other", 404),
        ("db_id=runs", 200),
        ("db_id=", 200),
        ("session_name=%00", 422),
        ("session_name=%25", 200),
        ("user_id=" + "x" * 1025, 400),
        ("page=2147483648", 200),
    ],
)
def test_a_query_is_valid_or_rejected(hosted: RunningService, query: str, status: int) -> None:
    response = hosted.http.get(f"/sessions?{query}")
    assert response.status_code == status, response.text
    if status == 200:
        assert response.json()["data"] == [] or "session_name" not in query


def test_a_session_begins_without_a_run(hosted: RunningService) -> None:
    body = {"session_id": "begun", "session_name": "Begun", "user_id": "ann", "agent_id": "weather"}
    body |= {"session_state": {"asked": 41}, "metadata": {"colour": "red"}}  # type: ignore[dict-item]
    response = hosted.http.post("/sessions", json=body)
    assert response.status_code == 201
    begun = response.json()
    created_at = begun.pop("created_at")
    assert created_at.endswith("Z")
    assert begun == {
        **body,
        "session_type": "agent",
        "agent_session_id": "begun",
        "updated_at": created_at,
        "metrics": {},
        "chat_history": [],
    }
    assert hosted.http.post("/sessions", json={"session_id": "begun"}).status_code == 409
    run(hosted, "agents/weather", "Lisbon", session_id="begun", user_id="ann").raise_for_status()
    found = hosted.http.get("/sessions/begun", params={"type": "agent", "user_id": "ann"}).json()
    assert (found["session_name"], found["session_state"]) == ("Begun", {"asked": 42})
    assert [message["role"] for message in found["chat_history"]] == ["user", "assistant"]

    team = hosted.http.post("/sessions", params={"type": "team"}, json={"team_id": "route", "agent_id": "x"}).json()
    assert (team["session_type"], team["team_id"], team["session_name"]) == ("team", "route", "")
    assert "agent_id" not in team
    hosted.http.delete(f"/sessions/{team['session_id']}").raise_for_status()


def test_a_session_is_named_and_changed(hosted: RunningService) -> None:
    run(hosted, "agents/weather", "hello\n  there" + "!" * 200, session_id="named")
    assert hosted.http.get("/sessions/named").json()["session_name"] == "hello there" + "!" * 69
    renamed = hosted.http.post("/sessions/named/rename", json={"session_name": "Ours"}).json()
    assert (renamed["session_name"], len(renamed["chat_history"])) == ("Ours", 2)
    changed = hosted.http.patch("/sessions/named", json={"metadata": {"a": [1]}, "session_name": None}).json()
    assert (changed["session_name"], changed["metadata"], changed["session_state"]) == (
        "Ours",
        {"a": [1]},
        {"asked": 1},
    )
    changed = hosted.http.patch("/sessions/named", json={"session_state": {}}).json()
    assert (changed["metadata"], changed["session_state"]) == ({"a": [1]}, {})


@pytest.mark.parametrize(
    ("method", "path", "body", "status"),
    [
        ("POST", "/sessions", [], 422),
        ("POST", "/sessions", {"session_id": "x" * 256}, 422),
        ("POST", "/sessions", {"session_id": "x\0"}, 422),
        ("POST", "/sessions", {"session_name": ""}, 422),
        ("POST", "/sessions", {"session_state": []}, 422),
        ("POST", "/sessions?type=animal", {}, 422),
        ("POST", "/sessions/named/rename", {}, 422),
        ("POST", "/sessions/named/rename", {"session_name": "x" * 161}, 422),
        ("POST", "/sessions/named/rename", {"session_name": "a\0"}, 422),
        ("PATCH", "/sessions/named", {"metadata": 1}, 422),
        ("POST", "/sessions/nothing/rename", {"session_name": "x"}, 404),
        ("PATCH", "/sessions/nothing", {}, 404),
        ("PATCH", "/sessions/named?type=team", {}, 404),
        ("PATCH", "/sessions/named?user_id=bob", {}, 404),
    ],
)
def test_an_invalid_change_changes_nothing(
    hosted: RunningService, method: str, path: str, body: Any, status: int
) -> None:
    run(hosted, "agents/echo", "hi", session_id="named", user_id="")
    before = hosted.http.get("/sessions/named").json()
    response = hosted.http.request(method, path, json=body)
    assert (response.status_code, set(response.json())) == (status, {"detail", "error_code"}), response.text
    assert hosted.http.get("/sessions/named").json() == before


def test_a_body_must_be_json(hosted: RunningService) -> None:
    assert hosted.http.patch("/sessions/named", data={"session_name": "x"}).status_code == 415
    text = {"Content-Type": "application/json"}
    assert hosted.http.patch("/sessions/named", content=b"{" * 20_000, headers=text).status_code == 422
    assert hosted.http.patch("/sessions/named", content=b" " * 2_000_000, headers=text).status_code == 413


def test_its_runs_are_read(hosted: RunningService) -> None:
    first, second = (run(hosted, "agents/weather", message, session_id="with-runs").json() for message in ("a", "b"))
    url = "/sessions/with-runs/runs"
    listed = hosted.http.get(url).json()
    assert [(each["run_id"], each["run_input"]) for each in listed] == [(first["run_id"], "a"), (second["run_id"], "b")]
    assert hosted.http.get(f"{url}/{second['run_id']}").json() == listed[1]
    after = hosted.http.get(url, params={"created_after": second["created_at"] + 1}).json()
    assert after == []
    assert len(hosted.http.get(url, params={"created_before": second["created_at"]}).json()) == 2
    assert hosted.http.get(url, params={"created_before": "yesterday"}).status_code == 422
    assert hosted.http.get(f"{url}/nothing").json()["detail"] == "Run not found"
    assert hosted.http.get(f"/sessions/begun/runs/{first['run_id']}").status_code == 404


def test_runs_are_selected_by_status_and_previewed(hosted: RunningService) -> None:
    long = "ü" * 300
    done = run(hosted, "agents/echo", long, session_id="previews", user_id="ann").json()
    paused = run(hosted, "agents/asking", "sure", session_id="previews", user_id="ann").json()
    team = run(hosted, "teams/route", "a b", session_id="previews").json()
    url = "/sessions/previews/run-previews"
    first, second, third = hosted.http.get(url).json()
    assert {name: value for name, value in first.items() if name != "created_at"} == {
        "run_id": done["run_id"],
        "agent_id": "echo",
        "user_id": "ann",
        "status": "COMPLETED",
        "run_input": long[:280],
        "content_preview": done["content"][:280],
    }
    assert first["created_at"].endswith("Z")
    assert (second["run_id"], second["status"]) == (paused["run_id"], "PAUSED")
    assert (third["run_id"], third["team_id"]) == (team["run_id"], "route")
    for path in (url, "/sessions/previews/runs"):

        def ids_of(path: str = path, **query: Any) -> list[str]:
            return [each["run_id"] for each in hosted.http.get(path, params=query).json()]

        assert ids_of(status="paused") == [paused["run_id"]]
        assert ids_of(status=["PAUSED", "COMPLETED"]) == [done["run_id"], paused["run_id"], team["run_id"]]
        assert ids_of(status="ERROR") == []
        assert ids_of(created_after=done["created_at"] + 60) == []
        rejected = hosted.http.get(path, params={"status": "other"})
        assert rejected.status_code == 422
        assert "`status[" in rejected.json()["detail"]


def test_several_sessions_are_deleted(hosted: RunningService) -> None:
    for name in ("many-1", "many-2", "many-3"):
        run(hosted, "agents/echo", session_id=name, user_id="ann").raise_for_status()

    def delete(ids: list[str], types: list[str], **query: str) -> int:
        body = {"session_ids": ids, "session_types": types}
        return hosted.http.request("DELETE", "/sessions", json=body, params=query).status_code

    assert delete(["many-1"], []) == 422
    assert delete(["many-1"], ["agent", "agent"]) == 400
    assert delete([], []) == 422
    assert delete(["many-1"], ["animal"]) == 422
    assert delete(["many-1"], ["agent"], db_id="other") == 404
    assert delete(["many-1", "many-2"], ["agent", "agent"], user_id="bob") == 204
    assert hosted.http.get("/sessions/many-1").status_code == 200
    begun = run(hosted, "agents/slow", "x", background="true", session_id="many-busy").json()
    assert delete(["many-1", "many-busy"], ["agent", "agent"]) == 409
    assert hosted.http.get("/sessions/many-1").status_code == 200
    hosted.http.post(f"/agents/slow/runs/{begun['run_id']}/cancel").raise_for_status()
    assert delete(["many-1", "nothing", "many-2", "many-1", "many-busy"], ["agent"] * 5, user_id="") == 204
    found = [hosted.http.get(f"/sessions/{name}").status_code for name in ("many-1", "many-2", "many-3", "many-busy")]
    assert found == [404, 404, 200, 404]


def test_state_that_a_run_will_write_is_not_changed_meanwhile(hosted: RunningService) -> None:
    begun = run(hosted, "agents/slow", "x", background="true", session_id="busy").json()
    url = "/sessions/busy"
    assert hosted.http.patch(url, json={"session_state": {}}).status_code == 409
    assert hosted.http.delete(url).status_code == 409
    assert hosted.http.patch(url, json={"session_name": "Busy"}).json()["session_name"] == "Busy"
    hosted.http.post(f"/agents/slow/runs/{begun['run_id']}/cancel").raise_for_status()
    assert hosted.http.delete(f"{url}?type=team").status_code == 404
    assert hosted.http.delete(url).status_code == 204
    assert hosted.http.get(url).status_code == 404
    assert hosted.http.get(f"/agents/slow/runs/{begun['run_id']}").status_code == 404


def test_a_message_may_contain_what_a_name_may_not(hosted: RunningService) -> None:
    response = run(hosted, "agents/echo", "a\0b", session_id="nul")
    assert response.status_code == 200
    assert hosted.http.get("/sessions/nul").json()["chat_history"][0]["content"] == "a\0b"
    assert hosted.http.get("/sessions/nul").json()["session_name"] == "a b"
    assert run(hosted, "agents/echo", "x", session_id="\0").status_code == 422
