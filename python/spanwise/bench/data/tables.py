"""The spans of a data set and what they say as Arrow tables, for engines that have no traces.

Traces are numbered from 0 in the order of answers: the newest start first, equal ones by trace id.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from spanwise.bench.data import rows
from spanwise.bench.data.documents import MODEL_CALL
from spanwise.bench.data.rows import AGENT as AGENT_RUN
from spanwise.bench.data.rows import TEAM
from spanwise.bench.data.shape import AGENTS, NAMES
from spanwise.bench.data.spans import AGENT, MODEL, MODELS, ROOT, TOOL, TOOLS, Drawer

if TYPE_CHECKING:
    from spanwise.bench.data.rows import IntArray, Rows
    from spanwise.bench.data.shape import Shape
    from spanwise.bench.data.spans import Spans
    from spanwise.bench.data.texts import ByteStrings

FIELDS = ("input", "output", "error")


class Tables(NamedTuple):
    """What some traces hold.

    Attributes:
        spans: a row for each span. `place` counts the spans of a trace in the order of its tree, `last` is the place of
            the last one below it, or its own, and `parent` that of its parent; null for a root.
        texts: a row for each text of a span: `trace`, `place`, `field`, and the `text` in lower case.
    """

    spans: pa.Table
    texts: pa.Table


class TableWriter:
    """Draws the tables of one data set."""

    def __init__(self, shape: Shape) -> None:
        """Draws all traces, for their order."""
        self._shape = shape
        self._drawer = Drawer(shape)
        self._numbers = _numbers(shape)

    def chunk(self, chunk: int) -> Tables:
        """Returns the tables of the traces of a chunk."""
        drawn = rows.draw(self._shape, chunk)
        first = chunk * rows.CHUNK
        numbers = self._numbers[first : first + len(drawn.starts)]
        spans = self._drawer.draw(drawn, chunk)
        return Tables(self._spans(drawn, spans, numbers), self._texts(spans, numbers))

    def _spans(self, drawn: Rows, spans: Spans, numbers: IntArray) -> pa.Table:
        layout = spans.layout
        is_root = layout.kind == ROOT
        types = np.array(["", "AGENT", "LLM", "TOOL"], np.object_)[layout.kind]
        types[layout.first] = np.where(
            drawn.kinds == AGENT_RUN, "AGENT", np.where(drawn.kinds == TEAM, "TEAM", "WORKFLOW")
        )
        names = np.full(len(layout), MODEL_CALL, np.object_)
        tools, agents = layout.kind == TOOL, layout.kind == AGENT
        names[tools] = np.array(TOOLS, np.object_)[spans.tools[tools]]
        names[agents] = np.array([f"{agent}.run" for agent in AGENTS], np.object_)[spans.members[agents] % len(AGENTS)]
        names[layout.first] = np.array(NAMES, np.object_)[drawn.names]
        models = layout.kind == MODEL
        prompts = self._drawer.prompt_tokens[np.maximum(spans.prompt_tokens, 0)]
        completions = self._drawer.completion_tokens[np.maximum(spans.completion_tokens, 0)]
        return pa.table(
            {
                "trace": numbers[layout.trace],
                "place": layout.place,
                "last": layout.last - layout.first[layout.trace],
                "parent": pa.array(layout.parents - layout.first[layout.trace], mask=is_root),
                "name": pa.array(names, pa.string()),
                "type": pa.array(types, pa.string()),
                "status": pa.array(["OK", "ERROR"]).take(pa.array((spans.failures >= 0).astype(np.int64))),
                "tool_name": pa.array(TOOLS).take(pa.array(spans.tools, mask=~tools)),
                "model": pa.array(MODELS).take(pa.array(spans.models, mask=~models)),
                "input_tokens": pa.array(prompts, mask=~models),
                "output_tokens": pa.array(completions, mask=~models),
                "start": layout.starts,
                "end": layout.ends,
                "duration_ms": (layout.ends - layout.starts) // 1_000,
            }
        )

    def _texts(self, spans: Spans, numbers: IntArray) -> pa.Table:
        messages = pa.array(self._drawer.texts.failures)
        failed = np.flatnonzero(spans.failures >= 0)
        places, texts = zip(
            _said(spans.inputs),
            _said(spans.outputs),
            (failed, messages.take(pa.array(spans.failures[failed]))),
            strict=True,
        )
        everyone = np.concatenate(places)
        fields = np.repeat(np.arange(len(FIELDS)), [len(own) for own in places])
        return pa.table(
            {
                "trace": numbers[spans.layout.trace[everyone]],
                "place": spans.layout.place[everyone],
                "field": pa.array(FIELDS).take(pa.array(fields)),
                "text": pc.utf8_lower(pa.concat_arrays(texts)),
            }
        )


def _said(columns: ByteStrings) -> tuple[IntArray, pa.Array]:
    """Returns which spans have a text, and the texts."""
    present = np.flatnonzero(columns[:, 0] != b"")
    texts = [b"".join(pieces) for pieces in columns[present, 1:].tolist()]
    return present, pa.array(texts, pa.binary()).cast(pa.string())


def _numbers(shape: Shape) -> IntArray:
    """Returns the number of each trace of a data set, in the order in which they are drawn."""
    starts, ids = [], []
    for chunk in range(rows.chunks(shape)):
        drawn = rows.draw(shape, chunk)
        starts.append(drawn.starts)
        ids.append(np.ascontiguousarray(drawn.trace_ids[:, :8]).view(">u8")[:, 0])
    order = np.lexsort((np.concatenate(ids), -np.concatenate(starts)))
    numbers = np.empty(len(order), np.int64)
    numbers[order] = np.arange(len(order))
    return numbers
