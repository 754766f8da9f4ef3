"""The modules loaded at the start of a service. Each adds to the start-up time and to the memory."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from support.clients.grpc import CHECK, GrpcClient
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Callable

NEVER = {"agno", "duckdb", "httpx", "numpy", "polars", "psycopg", "pyarrow", "pydantic", "ray", "rich"}
WHEN_USED = {"cryptography", "h2", "jwt", "opentelemetry", "sqlalchemy", "websockets"}
IMPORT = re.compile(r"^import time: +\d+ \| +\d+ \| +([\w.]+)$", re.MULTILINE)


@pytest.fixture
def observed(start: Callable[..., RunningService]) -> Callable[..., RunningService]:
    """Returns a function that starts a service whose log contains Python's import report."""
    return lambda **variables: start(PYTHONPROFILEIMPORTTIME="1", **variables)


def loaded(service: RunningService) -> set[str]:
    """Returns the listed packages that a service has imported so far."""
    found = {name.partition(".")[0] for name in IMPORT.findall(service.log.read_text())}
    assert found >= {"granian", "msgspec", "spanwise", "starlette"}
    return found & (NEVER | WHEN_USED)


def test_packages_are_loaded_when_they_are_used(observed: Callable[..., RunningService]) -> None:
    port = free_port()
    service = observed(SPANWISE_OTLP_GRPC_PORT=str(port))
    service.search().raise_for_status()
    service.http.get("/openapi.json").raise_for_status()
    assert loaded(service) == set()
    with GrpcClient(port) as client:
        assert client.call(b"", path=CHECK).code == 0
    assert loaded(service) == {"h2"}
    assert not (service.data_dir / "runs.db").exists()
    assert service.http.get("/sessions").raise_for_status().json()["data"] == []
    assert loaded(service) == {"h2", "sqlalchemy"}
    assert service.stop() == 0


def test_a_database_of_runs_that_exists_is_opened_at_the_start(observed: Callable[..., RunningService]) -> None:
    service = observed()
    added = service.http.post("/sessions", json={"session_id": "one"})
    assert added.status_code == 201, added.text
    assert service.stop() == 0
    service.log.unlink()
    service = observed()
    assert loaded(service) == {"sqlalchemy"}
    assert [each["session_id"] for each in service.http.get("/sessions").json()["data"]] == ["one"]
