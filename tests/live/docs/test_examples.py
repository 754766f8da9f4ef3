"""The printed output of each command on a page matches its actual output over the tutorial's traces."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.documents import blocks_of, commands_of, words_of
from support.paths import ROOT
from support.services.printed import need_curl_and_jq, run_printed, run_program, send_travel
from support.services.process import RunningService

if TYPE_CHECKING:
    from pathlib import Path

PAGES = [
    *("bulk.md", "otlp.md", "search.md", "store.md"),
    *(f"reference/{name}.md" for name in ("api", "api-counts", "api-otlp", "api-search")),
]
NEVER_END = ("spanwise serve", "spanwise tail", "/traces/tail")
TRIED_ELSEWHERE = ("_parquet(", "127.0.0.1:4318")  # these need segments, or the OpenTelemetry ports


@pytest.mark.parametrize("name", PAGES)
def test_a_page_prints_what_its_commands_print(name: str, tmp_path: Path) -> None:
    need_curl_and_jq()
    commands = 0
    with RunningService(tmp_path / "spanwise-data") as service:
        send_travel(tmp_path, service)
        for block in blocks_of(ROOT / "docs" / name):
            if block.language == "python" and not any(part in block.text for part in TRIED_ELSEWHERE):
                run_program(block.text, tmp_path, service)
            for command in commands_of(block.text) if block.language == "console" else []:
                if not any(endless in command.line for endless in NEVER_END):
                    assert words_of(run_printed(command, tmp_path, service)) == words_of(command.output), command.line
                    commands += 1
        assert commands
        assert service.stop() == 0


def test_the_guide_to_the_client_prints_what_its_programs_print(tmp_path: Path) -> None:
    programs, texts = "", 0
    with RunningService(tmp_path / "spanwise-data") as service:
        send_travel(tmp_path, service)
        for block in blocks_of(ROOT / "docs" / "client.md"):
            if block.language == "python":
                programs += block.text
            elif block.language == "text":
                assert block.text in run_program(programs, tmp_path, service)
                texts += 1
        assert texts == 3
