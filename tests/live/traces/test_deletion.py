"""Deleted traces stay deleted after a restart, and callers delete only their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from support.clients.otlp import export_request
from support.clients.tokens import as_admin, as_caller, jwks_file

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import httpx

    from support.services.process import RunningService

JSON = {"Content-Type": "application/json"}
EVERYTHING: dict[str, Any] = {}
OF_ALICE = {"op": "EQ", "key": "user_id", "value": "alice"}
OWNERS = {"a": "alice", "b": "alice", "c": "bob", "d": ""}


def fill(service: RunningService, **headers: str) -> None:
    for letter, owner in OWNERS.items():
        body = export_request(letter * 32, "e" * 16, **{"user.id": owner})
        service.http.post("/v1/traces", content=body, headers=JSON | headers).raise_for_status()


def delete(
    service: RunningService, expression: object, headers: dict[str, str] | None = None, **more: object
) -> httpx.Response:
    return service.http.post("/traces/delete", json={"filter": expression, **more}, headers=headers)


def test_what_is_deleted_is_gone_and_stays_so(start: Callable[..., RunningService]) -> None:
    service = start()
    fill(service)
    assert delete(service, OF_ALICE, dry_run=True).json() == {"deleted": 2}
    assert len(service.trace_ids()) == 4
    assert delete(service, OF_ALICE).json() == {"deleted": 2}
    assert delete(service, OF_ALICE).json() == {"deleted": 0}
    assert service.http.get("/traces/" + "a" * 32).status_code == 404
    assert set(service.trace_ids()) == {"c" * 32, "d" * 32}
    assert service.stop() == 0
    again = start()
    assert set(again.trace_ids()) == {"c" * 32, "d" * 32}
    assert delete(again, EVERYTHING).json() == {"deleted": 2}
    assert again.trace_ids() == []


@pytest.mark.parametrize("body", [{}, {"filter": None}, {"filter": []}, {"filter": "x"}, {"filter": {}, "dry_run": 1}])
def test_a_deletion_says_what_it_deletes(service: RunningService, body: dict[str, Any]) -> None:
    response = service.http.post("/traces/delete", json=body)
    assert (response.status_code, response.json()["error_code"]) == (422, "VALIDATION_ERROR")


def test_an_invalid_filter_deletes_nothing(service: RunningService) -> None:
    response = delete(service, {"op": "EQ", "key": "nope", "value": "x"})
    assert (response.status_code, response.json()["error_code"]) == (400, "BAD_REQUEST")


def test_nobody_deletes_what_belongs_to_another(start: Callable[..., RunningService], tmp_path: Path) -> None:
    service = start("--authorization", JWT_JWKS_FILE=jwks_file(tmp_path))
    fill(service, **as_admin())
    bob = as_caller("bob", "traces:delete")
    for expression, count in ((OF_ALICE, 0), ({"op": "NOT", "condition": OF_ALICE}, 1), (EVERYTHING, 0)):
        assert delete(service, expression, bob).json() == {"deleted": count}
    service.http.headers.update(as_admin())
    assert set(service.trace_ids()) == {"a" * 32, "b" * 32, "d" * 32}
    assert delete(service, EVERYTHING).json() == {"deleted": 3}
