"""The golden sessions over HTTP, with traces ingested as OTLP."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from support.paths import CASES
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator

GOLDEN: dict[str, Any] = json.loads((CASES / "sessions.json").read_text("utf-8"))


@pytest.fixture(scope="module")
def golden(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    with RunningService(tmp_path_factory.mktemp("sessions") / "data") as service:
        service.http.post("/v1/traces", json=GOLDEN["request"]).raise_for_status()
        yield service


@pytest.mark.parametrize("case", GOLDEN["cases"], ids=lambda case: case["name"])
def test_a_session_search_answers_the_golden_rows(golden: RunningService, case: dict[str, Any]) -> None:
    page, limit = case.get("page", 1), case.get("limit", 20)
    response = golden.search(filter=case["filter"], group_by="session", page=page, limit=limit).json()
    assert response["data"] == case["sessions"]
    assert response["meta"]["total_count"] == case["total_count"]
    assert response["meta"]["total_pages"] == -(-case["total_count"] // limit)
