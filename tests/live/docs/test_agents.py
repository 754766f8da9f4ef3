"""The pages about agents and WebSockets: their programs respond as printed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from support.documents import blocks_of, commands_of, words_of
from support.paths import ROOT
from support.services.printed import need_curl_and_jq, run_printed, run_program
from support.services.process import RunningService

if TYPE_CHECKING:
    from pathlib import Path

AGENTS = blocks_of(ROOT / "docs" / "runs.md")
SHOP, EVERY_KIND, *_ = [block.text for block in AGENTS if block.language == "python"]
COMMANDS = [command for block in AGENTS if block.language == "console" for command in commands_of(block.text)]


def serve(program: str, folder: Path) -> RunningService:
    """Serves the `service` of a program, which is saved as `shop.py`."""
    (folder / "shop.py").write_text(program, "utf-8")
    path = os.pathsep.join([str(folder), *filter(None, [os.environ.get("PYTHONPATH")])])
    return RunningService(folder / "data", "shop:service", PYTHONPATH=path)


def test_the_first_agents_respond_as_the_page_prints(tmp_path: Path) -> None:
    need_curl_and_jq()
    assert len(COMMANDS) == 4
    with serve(SHOP, tmp_path) as service:
        for command in COMMANDS:
            assert words_of(run_printed(command, tmp_path, service)) == words_of(command.output), command.line
        assert service.stop() == 0


@pytest.mark.parametrize("name", ["api-runs.md", "api-sessions.md"])
def test_the_reference_prints_what_the_first_agents_respond(tmp_path: Path, name: str) -> None:
    need_curl_and_jq()
    blocks = [block for block in blocks_of(ROOT / "docs" / "reference" / name) if block.language == "console"]
    assert len(blocks) >= 3
    with serve(SHOP, tmp_path) as service:
        for command in [command for block in blocks for command in commands_of(block.text)]:
            assert words_of(run_printed(command, tmp_path, service)) == words_of(command.output), command.line
        assert service.stop() == 0


def test_a_workflow_over_a_websocket_has_the_events_that_the_page_prints(tmp_path: Path) -> None:
    program, printed = [
        block.text for block in blocks_of(ROOT / "docs" / "sockets.md") if block.language in {"python", "text"}
    ]
    with serve(EVERY_KIND, tmp_path) as service:
        assert run_program(program, tmp_path, service) == printed
        assert service.stop() == 0


def test_the_client_of_agno_prints_what_the_page_prints(tmp_path: Path) -> None:
    pytest.importorskip("agno", reason="the extra `agno` brings it")
    page = ROOT / "docs" / "reference" / "agno-client.md"
    program, printed = [block.text for block in blocks_of(page)]
    with serve(EVERY_KIND, tmp_path) as service:
        assert run_program(program, tmp_path, service) == printed
