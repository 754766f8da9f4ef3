"""The tutorial runs from top to bottom as printed, against its own service."""

from __future__ import annotations

import re
import tomllib
from typing import TYPE_CHECKING

from support.documents import blocks_of, commands_of, words_of
from support.paths import ROOT
from support.services.printed import TUTORIAL, need_curl_and_jq, run_printed
from support.services.process import RunningService

if TYPE_CHECKING:
    from pathlib import Path

EXTRAS = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
SERVE = "spanwise serve --data-dir ./spanwise-data"


def test_the_tutorial_runs_from_top_to_bottom(tmp_path: Path) -> None:
    need_curl_and_jq()
    first, *blocks = blocks_of(TUTORIAL)
    install, serve = first.text.splitlines()
    extras = re.fullmatch(r"pip install 'spanwise\[([\w,-]+)\]'", install)
    assert extras
    assert set(extras[1].split(",")) <= set(EXTRAS)
    assert serve == SERVE
    commands = 0
    with RunningService(tmp_path / "spanwise-data") as service:
        for block in blocks:
            if block.language == "python":
                (name,) = re.findall(r"[Ss]ave this as `(\w+\.py)`", block.before)
                (tmp_path / name).write_text(block.text.replace(":7777", f":{service.port}"), "utf-8")
            else:
                assert block.language == "console"
                for command in commands_of(block.text):
                    assert words_of(run_printed(command, tmp_path, service)) == words_of(command.output), command.line
                    commands += 1
        assert commands == 7
        assert service.http.get("/ui").status_code == 200
        assert service.stop() == 0
