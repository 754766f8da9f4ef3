"""Replays what frameworks sent (`tests/frameworks`) and compares what is read from it with what is expected."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from frameworks.harness.facts import failures, gaps, replayed, spans_of
from frameworks.harness.framework import FRAMEWORKS, names, read, read_index, script_of
from frameworks.harness.page import PAGE, page

if TYPE_CHECKING:
    from frameworks.harness.framework import Case

CASES = [pytest.param(name, case, id=f"{name}-{case.name}") for name in names() for case in read(name).cases]
LARGEST_FOLDER = 200_000


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_fact_is_read_but_the_known_gaps(name: str, case: Case) -> None:
    found = failures(case, replayed(name, case))
    known = gaps(read(name), case)
    assert {place: message for place, message in found.items() if place not in known} == {}
    assert known - set(found) == set(), "these are no gaps any more: take them out of `missing`"


@pytest.mark.parametrize(("name", "case"), CASES)
def test_every_trace_has_a_name_an_input_and_types(name: str, case: Case) -> None:
    """The laws of all frameworks: what a framework sends in any form is not shown as nothing."""
    for trace in replayed(name, case):
        assert trace["name"]
        for span in spans_of(trace):
            attributes = (span.get("extra_data") or {}).get("attributes") or {}
            is_typed = any("kind" in key.split(".")[-1] and "." in key for key in attributes)
            assert span["type"] != "UNKNOWN" or not is_typed, span
            has_input = any(key.startswith(("input.value", "gen_ai.input.messages")) for key in attributes)
            assert span.get("input") or not has_input, span


@pytest.mark.parametrize("name", names())
def test_the_files_of_a_framework_agree(name: str) -> None:
    framework, index, folder = read(name), read_index(name), FRAMEWORKS / name / "exports"
    cases = {case.name for case in framework.cases}
    assert {file.case for file in index.files} == cases, "every case is captured"
    assert {file.file for file in index.files} | {"index.json"} == {path.name for path in folder.iterdir()}
    assert sum(path.stat().st_size for path in (FRAMEWORKS / name).rglob("*")) < LARGEST_FOLDER
    assert script_of(name, framework).exists()
    assert {place.split("/")[0] for place in framework.missing} <= cases


def test_the_page_is_what_the_captures_say() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m frameworks.harness page`"
