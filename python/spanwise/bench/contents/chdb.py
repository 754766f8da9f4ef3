"""chDB, ClickHouse in process, with its index of texts: words of letters and digits."""

from __future__ import annotations

import json
import re
from importlib import import_module
from typing import TYPE_CHECKING, Any

from spanwise.bench.contents import LIMIT
from spanwise.bench.contents.sql import SUMS, has_axes, query, text
from spanwise.bench.peers import QueryResult
from spanwise.bench.peers.sql import Dialect

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.bench.contents import Contents, Question

_DIALECT = Dialect(
    instant=lambda moment: f"toDateTime64('{moment}', 6, 'UTC')",
    contains_ignoring_case=lambda key, pattern: f"{key} ILIKE concat('%', {pattern}, '%')",
)
_INDEX = "ALTER TABLE texts ADD INDEX words text TYPE text(tokenizer = splitByNonAlpha)"
_TABLES = {"spans": "trace, place", "texts": "trace, place, field"}
_ASSUMED = ("trace", "place", "last", "text", "field", "type", "status", "name")
"""Columns of Arrow may have nulls; these have none, which makes them faster to read, and the index possible."""


class ChDB:
    """A session with three tables, which is on disk until it is closed."""

    def __init__(self, contents: Contents) -> None:
        """Copies the contents."""
        self._session: Any = import_module("chdb.session").Session()
        self._session.query("CREATE DATABASE bench ENGINE = Atomic")
        self._session.query("USE bench")
        for number, tables in enumerate(contents.tables()):
            for name, table in (("spans", tables.spans), ("texts", tables.texts)):
                chosen = f"SELECT {_without_nulls(table.column_names)} FROM Python(table)"  # noqa: S608  # our own
                if not number:
                    kind = f"MergeTree ORDER BY ({_TABLES[name]})"
                    self._session.query(f"CREATE TABLE {name} ENGINE = {kind} AS {chosen} LIMIT 0")
                    if name == "texts":
                        self._session.query(_INDEX)
                self._session.query(f"INSERT INTO {name} {chosen}")
        rows = contents.rows.append_column("trace", [range(contents.rows.num_rows)])  # noqa: F841  # the query names it
        columns = _without_nulls(["trace", "trace_id", "start_time", "agent_id"])
        self._session.query(
            f"CREATE TABLE traces ENGINE = MergeTree ORDER BY trace AS SELECT * FROM "  # noqa: S608  # our own
            f"(SELECT {columns} FROM Python(rows)) AS own INNER JOIN ({SUMS}) AS sums USING (trace)"
        )

    def answers(self, question: Question) -> bool:
        """Returns whether the filter has no axes: ClickHouse joins by equality where a condition relates two rows."""
        return not has_axes(question.filter)

    def prepare(self, question: Question) -> Callable[[], QueryResult]:
        """Returns a function that answers `question`."""

        def contains(pattern: str) -> str:
            literal = text(pattern).replace("\\", "\\\\")
            found = f"position(text, {literal}) > 0"
            words = re.findall(r"[a-z0-9]+", pattern)
            if not question.words or not words:
                return found
            listed = ", ".join(map(text, words))
            indexed = f"hasAllTokens(text, [{listed}])"
            return indexed if words == [pattern] else f"({indexed} AND {found})"

        asked = query(question, LIMIT, _DIALECT, contains)

        def find() -> QueryResult:
            lines = self._session.query(asked, "JSONCompactEachRow").bytes().splitlines()
            found = [json.loads(line) for line in lines]
            return QueryResult([trace_id for trace_id, _ in found], int(found[0][1]) if found else 0)

        return find

    def close(self) -> None:
        """Closes the session."""
        self._session.close()


def _without_nulls(columns: list[str]) -> str:
    return ", ".join(f"assumeNotNull({name}) AS {name}" if name in _ASSUMED else name for name in columns)


def open_engine(contents: Contents) -> ChDB:
    """Returns chDB with a copy of the contents."""
    return ChDB(contents)
