"""Tantivy, an index of words with positions: a document for each trace, with all its texts."""

from __future__ import annotations

import re
import shutil
import tempfile
from importlib import import_module
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from spanwise.bench.contents import LIMIT
from spanwise.bench.peers import QueryResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from spanwise.bench.contents import Contents, Question

_HEAP_BYTES = 256_000_000


class Tantivy:
    """An index in files, which are removed when it is closed."""

    def __init__(self, contents: Contents) -> None:
        """Indexes the texts."""
        self._package: Any = import_module("tantivy")
        self._ids = contents.rows["trace_id"]
        builder = self._package.SchemaBuilder()
        builder.add_integer_field("number", fast=True)
        builder.add_text_field("text")
        self._folder = tempfile.mkdtemp(prefix="tantivy-", dir=contents.folder)
        self._index: Any = self._package.Index(builder.build(), path=self._folder)
        writer: Any = self._index.writer(_HEAP_BYTES)
        for tables in contents.tables():
            texts = tables.texts.select(["trace", "text"]).sort_by("trace")
            pairs = zip(texts["trace"].to_pylist(), texts["text"].to_pylist(), strict=True)
            for number, said in groupby(pairs, key=itemgetter(0)):
                writer.add_document(self._package.Document(number=number, text=[text for _, text in said]))
        writer.commit()
        writer.wait_merging_threads()
        self._index.reload()

    def answers(self, question: Question) -> bool:
        """Returns whether `question` is only about whole words, in any text."""
        return question.words and question.filter.get("key") == "text"

    def prepare(self, question: Question) -> Callable[[], QueryResult]:
        """Returns a function that answers `question`."""
        searcher = self._index.searcher()
        words = re.findall(r"[^\W_]+", question.filter["value"].lower())
        make = self._package.Query
        schema = self._index.schema
        asked = make.phrase_query(schema, "text", words) if len(words) > 1 else make.term_query(schema, "text", *words)
        order = self._package.Order.Asc

        def find() -> QueryResult:
            found = searcher.search(asked, LIMIT, count=True, order_by_field="number", order=order)
            numbers = pa.array([number for number, _ in found.hits], pa.int64())
            return QueryResult(self._ids.take(numbers).to_pylist(), found.count)

        return find

    def close(self) -> None:
        """Removes the index."""
        shutil.rmtree(self._folder)


def open_engine(contents: Contents) -> Tantivy:
    """Returns Tantivy with an index of the texts."""
    return Tantivy(contents)
