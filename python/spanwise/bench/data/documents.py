"""OTLP requests with the spans of generated rows, encoded by concatenating columns of bytes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.bench.data.otlp_encoding import attribute, export_request, field
from spanwise.bench.data.rows import WORKFLOW, run_texts, session_texts
from spanwise.bench.data.shape import AGENT_IDS, AGENTS, NAMES, TEAM_IDS, WORKFLOW_IDS, user_id
from spanwise.bench.data.texts import Texts, byte_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.bench.data.rows import BoolArray, ByteArray, IntArray, Rows
    from spanwise.bench.data.shape import Shape
    from spanwise.bench.data.texts import ByteStrings

SPANS_A_REQUEST = 512
_GROUP = 12
"""In larger traces, groups of this many spans have an agent span as parent."""
_ROOT, _AGENT, _MODEL, _TOOL = range(4)

_RESOURCE = attribute("service.name", "agents", 1) + attribute("telemetry.sdk.language", "python", 1)
_SCOPE = field(1, b"openinference.instrumentation.agno") + field(2, b"1.0.15")
_ERROR = field(15, field(2, b"the tool gave no answer within 30 s") + b"\x18\x02")
_JSON = attribute("input.mime_type", "application/json") + attribute("output.mime_type", "application/json")
_FIXED = {
    _ROOT: b"",
    _AGENT: attribute("openinference.span.kind", "AGENT"),
    _MODEL: attribute("openinference.span.kind", "LLM") + attribute("llm.provider", "OpenAI") + _JSON,
    _TOOL: attribute("openinference.span.kind", "TOOL") + attribute("output.mime_type", "text/plain"),
}
_MODELS = byte_strings([
    field(5, b"OpenAIChat.invoke") + attribute("llm.model_name", model)
    for model in ("gpt-4.1", "gpt-4o-mini", "o4-mini", "claude-sonnet-4")
])  # fmt: skip
_TOOLS = byte_strings([
    field(5, tool.encode()) + attribute("tool.name", tool)
    for tool in ("search_documents", "get_record", "run_query", "send_message", "read_page", "convert_amount")
])  # fmt: skip
_MEMBERS = byte_strings([field(5, f"{agent}.run".encode()) + attribute("agent.name", agent) for agent in AGENTS])
_NAMES = byte_strings([field(5, name.encode()) for name in NAMES])


class Request(NamedTuple):
    """One OTLP request: its body, and the number of its spans."""

    body: bytes
    spans: int


class _SpanColumns(NamedTuple):
    """The spans of a chunk, trace by trace: `trace` is the index of the trace, `place` the position within it."""

    trace: IntArray
    place: IntArray
    first: IntArray
    """For each trace, the index of its first span."""
    kind: IntArray


class Writer:
    """Encodes the OTLP requests of one data set."""

    def __init__(self, shape: Shape) -> None:
        """Builds the texts in advance."""
        self._shape = shape
        self._texts = Texts(shape.seed)
        self._users = byte_strings([attribute("user.id", user_id(number)) for number in range(shape.users)])

    def requests(self, rows: Rows, chunk: int) -> Iterator[Request]:
        """Yields the requests for the rows of a chunk, oldest first. A trace is never split."""
        rng = np.random.default_rng([self._shape.seed, chunk, 1])
        spans = _lay_out(rows)
        count = len(spans.trace)
        tails = self._tails(rng, rows, spans)
        lengths = np.fromiter(map(len, chain.from_iterable(tails)), np.int64, tails.size).reshape(tails.shape)
        heads, parents = _heads(rng, rows, spans, lengths.sum(axis=1))
        everything = np.empty((count, tails.shape[1] + 2), np.object_)
        everything[:, 0], everything[:, 1], everything[:, 2:] = heads, parents, tails
        ends = [*spans.first[1:].tolist(), count]
        begin = 0
        for end in ends:
            if end - begin >= SPANS_A_REQUEST or end == count:
                yield Request(_request(everything[begin:end]), end - begin)
                begin = end

    def _tails(self, rng: np.random.Generator, rows: Rows, spans: _SpanColumns) -> ByteStrings:
        """Returns the fields of variable length, as an array of byte strings: (spans, fields)."""
        texts, is_small = self._texts, self._shape.documents == "small"
        count = len(spans.trace)
        tails = np.full((count, 5), b"", np.object_)
        for kind, fixed in _FIXED.items():
            tails[spans.kind == kind, 0] = fixed
        roots, agents = spans.first, np.flatnonzero(spans.kind == _AGENT)
        models, tools = np.flatnonzero(spans.kind == _MODEL), np.flatnonzero(spans.kind == _TOOL)
        tails[roots, 0] = self._identities(rows)
        tails[roots, 1] = _choose(rng, texts.short_questions if is_small else texts.questions, len(roots))
        tails[roots, 2] = _choose(rng, texts.short_outcomes if is_small else texts.outcomes, len(roots))
        tails[agents, 1] = _MEMBERS[(rows.agents[spans.trace[agents]] + spans.place[agents]) % len(_MEMBERS)]
        tails[agents, 2] = _choose(rng, texts.questions, len(agents))
        tails[agents, 3] = _choose(rng, texts.outcomes, len(agents))
        tails[models, 1] = _choose(rng, _MODELS, len(models))
        tails[models, 2] = _choose(rng, texts.histories, len(models))
        tails[models, 3] = _choose(rng, texts.answers, len(models))
        prompts, completions = _choose(rng, texts.prompts, len(models)), _choose(rng, texts.completions, len(models))
        tails[models, 4] = prompts + completions
        tails[tools, 1] = _choose(rng, _TOOLS, len(tools))
        tails[tools, 2] = _choose(rng, texts.arguments, len(tools))
        tails[tools, 3] = _choose(rng, texts.results, len(tools))
        last = np.concatenate([spans.first[1:], [count]]) - 1
        wrong = np.union1d(roots[rows.failed], last[rows.failed])
        tails[wrong, 4] += _ERROR
        return tails

    def _identities(self, rows: Rows) -> ByteStrings:
        """Returns the name, kind and ids of each trace, encoded as fields of its root span."""
        sessions = _fixed_attributes("session.id", session_texts(rows), rows.has_session)
        runs = _fixed_attributes("agno.run.id", run_texts(rows), rows.has_run)
        users = self._users[np.maximum(rows.users, 0)]
        users[rows.users < 0] = b""
        owners = _OWNERS[rows.kinds, rows.agents]
        identities: ByteStrings = _NAMES[rows.names] + owners + sessions + runs + users
        return identities


def _owners() -> ByteStrings:
    """Returns the attributes that identify an agent, team or workflow: (kinds, agents)."""
    owners = np.empty((3, len(AGENTS)), np.object_)
    for place, (agent, agent_id) in enumerate(zip(AGENTS, AGENT_IDS, strict=True)):
        for kind in range(3):
            span_kind = "CHAIN" if kind == WORKFLOW else "AGENT"
            ids = [
                attribute("agno.agent.id", agent_id) + attribute("agent.name", agent),
                attribute("agno.team.id", TEAM_IDS[place % len(TEAM_IDS)]),
                attribute("agno.workflow.id", WORKFLOW_IDS[place % len(WORKFLOW_IDS)]),
            ]
            owners[kind, place] = attribute("openinference.span.kind", span_kind) + ids[kind]
    return owners


_OWNERS = _owners()


def _lay_out(rows: Rows) -> _SpanColumns:
    """Returns the spans of all traces: a root, then models and tools alternately, below agents in large traces."""
    trace = np.repeat(np.arange(len(rows.spans)), rows.spans)
    first = np.cumsum(rows.spans) - rows.spans
    place = np.arange(len(trace)) - first[trace]
    kind = np.where(place % 2 == 1, _MODEL, _TOOL)
    is_large = rows.spans[trace] > _GROUP + 1
    kind[is_large & ((place - 1) % _GROUP == 0)] = _AGENT
    kind[place == 0] = _ROOT
    return _SpanColumns(trace, place, first, kind)


def _heads(
    rng: np.random.Generator, rows: Rows, spans: _SpanColumns, tails: IntArray
) -> tuple[ByteStrings, ByteStrings]:
    """Returns the fields of fixed length (tag and length, ids, times), and the parent ids.

    Args:
        rng: the generator for span ids.
        rows: the traces.
        spans: the spans.
        tails: the length of the remaining fields of each span.
    """
    count = len(spans.trace)
    ids = rng.integers(0, 256, (count, 8), np.uint8)
    starts, ends = _times(rows, spans)
    columns = [
        np.empty((count, 3), np.uint8),
        _tagged(b"\x0a\x10", rows.trace_ids[spans.trace]),
        _tagged(b"\x12\x08", ids),
        _tagged(b"\x39", starts.astype("<u8").view(np.uint8).reshape(count, 8)),
        _tagged(b"\x41", ends.astype("<u8").view(np.uint8).reshape(count, 8)),
    ]
    heads = np.hstack(columns)
    parents = _as_byte_strings(_tagged(b"\x22\x08", ids[_parents(rows, spans)]))
    parents[spans.place == 0] = b""
    lengths = heads.shape[1] - 3 + tails + np.where(spans.place == 0, 0, 10)
    # The lengths fit in a varint of two bytes, from 128 to 16,383.
    heads[:, 0] = 0x12
    heads[:, 1] = lengths & 0x7F | 0x80
    heads[:, 2] = lengths >> 7
    return _as_byte_strings(heads), parents


def _parents(rows: Rows, spans: _SpanColumns) -> IntArray:
    """Returns the index of the parent of each span; a root is its own parent."""
    first = spans.first[spans.trace]
    head_of_group = first + 1 + (spans.place - 1) // _GROUP * _GROUP
    is_below = (rows.spans[spans.trace] > _GROUP + 1) & (spans.kind != _AGENT) & (spans.place > 0)
    return np.where(is_below, head_of_group, first)


def _times(rows: Rows, spans: _SpanColumns) -> tuple[IntArray, IntArray]:
    """Returns the start and end of each span, in Unix nanoseconds: consecutive within the root."""
    total, start, duration = (column[spans.trace] for column in (rows.spans, rows.starts, rows.durations))
    until = np.where(spans.kind == _AGENT, np.minimum(spans.place + _GROUP, total), spans.place + 1)
    until = np.where(spans.place == 0, total + 1, until)
    starts = start + duration * spans.place // (total + 1)
    ends = start + duration * until // (total + 1)
    return starts * 1_000, ends * 1_000


def _request(spans: ByteStrings) -> bytes:
    return export_request(_RESOURCE, _SCOPE, b"".join(spans.ravel().tolist()))


def _choose(rng: np.random.Generator, made: ByteStrings, count: int) -> ByteStrings:
    return made[rng.integers(0, len(made), count)]


def _tagged(tag: bytes, content: ByteArray) -> ByteArray:
    return np.hstack([np.tile(np.frombuffer(tag, np.uint8), (len(content), 1)), content])


def _fixed_attributes(key: str, texts: ByteArray, present: BoolArray) -> ByteStrings:
    """Returns an attribute for each text; empty where not `present`."""
    width = texts.shape[1]
    framing = attribute(key, "0" * width)[:-width]
    made = _as_byte_strings(_tagged(framing, texts))
    made[~present] = b""
    return made


def _as_byte_strings(rows: ByteArray) -> ByteStrings:
    """Returns the rows of (n, w) bytes as byte strings."""
    return byte_strings(np.frombuffer(rows.tobytes(), f"V{rows.shape[1]}").tolist())
