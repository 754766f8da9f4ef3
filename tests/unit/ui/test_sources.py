"""The sources of the user interface agree with the service."""

from __future__ import annotations

import re
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

from support.paths import UI_SOURCES


def test_its_openapi_document_is_current() -> None:
    command = [sys.executable, "-m", "spanwise.http.openapi"]
    current = subprocess.run(command, capture_output=True, check=True).stdout
    written = (UI_SOURCES / "openapi.json").read_bytes()
    assert written == current, f"run `{' '.join(command[1:])} > ui/openapi.json`, then `npm run types` in `ui`"


def test_no_files_import_one_another_in_a_cycle() -> None:
    source = UI_SOURCES / "src"
    files = {path for path in source.rglob("*") if path.suffix in {".ts", ".svelte"}}

    def imported(path: Path) -> set[Path]:
        names = re.findall(r"""(?:from|import)\s+['"](\.[^'"]+)['"]""", path.read_text("utf-8"))
        targets = ((path.parent / name).resolve() for name in names)
        ends = ("", ".ts", ".svelte", "/index.ts")
        found = {Path(f"{target}{end}") for target in targets for end in ends} & files
        return found - {path}

    graph = {path: imported(path) for path in files}
    assert sum(map(len, graph.values())) > len(files), "the imports are recognized"
    TopologicalSorter(graph).prepare()
