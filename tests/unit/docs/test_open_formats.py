"""The documented examples of other tools that read the files of a store."""

from __future__ import annotations

import ast
import json
import re
from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PROSE = (ROOT / "docs" / "bulk.md").read_text("utf-8")
EXAMPLES = {
    re.match(r"import (\w+)", source)[1]: source  # type: ignore[index]
    for source in re.findall(r"```python\n(.*?)```", PROSE, re.DOTALL)
}


@pytest.mark.parametrize("tool", ["duckdb", "polars"])
def test_a_tool_reads_the_rows_of_a_store(tool: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip(tool, reason=f"the extra `bench` brings {tool}")
    store = TraceStore.open(str(tmp_path / "spanwise-data" / "traces"))
    for number, name in enumerate(["a", "b", "a"]):
        times = {"startTimeUnixNano": "0", "endTimeUnixNano": str((number + 1) * 10**9)}
        span = {"traceId": f"{number + 1:032x}", "spanId": "a" * 16, "name": name, "status": {"code": 2}, **times}
        body = {"resourceSpans": [{"scopeSpans": [{"spans": [span]}]}]}
        store.ingest(json.dumps(body).encode(), "application/json")
        store.flush()
    store.close()
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    *lines, last = ast.parse(EXAMPLES[tool]).body
    assert isinstance(last, ast.Expr)
    exec(compile(ast.Module(lines, []), tool, "exec"), names)  # noqa: S102  # a reader runs it too
    found = eval(compile(ast.Expression(last.value), tool, "eval"), names)  # noqa: S307  # likewise
    assert found == ([("a", 2, 3000), ("b", 1, 2000)] if tool == "duckdb" else [("a", 2), ("b", 1)])
