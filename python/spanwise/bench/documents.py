"""Rows become spans: OTLP export requests of whole traces, written by copying columns of bytes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.bench.rows import WORKFLOW, run_texts, session_texts
from spanwise.bench.shape import AGENT_IDS, AGENTS, NAMES, TEAM_IDS, WORKFLOW_IDS, user_id
from spanwise.bench.texts import Texts, pieces
from spanwise.bench.wire import attribute, export_request, field

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.bench.rows import Bytes, Rows, Truth, Whole
    from spanwise.bench.shape import Shape
    from spanwise.bench.texts import Pieces

SPANS_A_REQUEST = 512
_GROUP = 12
"""In a trace of more spans, so many of them stand below an agent of their own."""
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
_MODELS = pieces([
    field(5, b"OpenAIChat.invoke") + attribute("llm.model_name", model)
    for model in ("gpt-4.1", "gpt-4o-mini", "o4-mini", "claude-sonnet-4")
])  # fmt: skip
_TOOLS = pieces([
    field(5, tool.encode()) + attribute("tool.name", tool)
    for tool in ("search_documents", "get_record", "run_query", "send_message", "read_page", "convert_amount")
])  # fmt: skip
_MEMBERS = pieces([field(5, f"{agent}.run".encode()) + attribute("agent.name", agent) for agent in AGENTS])
_NAMES = pieces([field(5, name.encode()) for name in NAMES])


class Request(NamedTuple):
    """One export request: its body, and how many spans are in it."""

    body: bytes
    spans: int


class _Spans(NamedTuple):
    """The spans of a chunk, trace by trace; `trace` is the place of its trace, `place` its own within that."""

    trace: Whole
    place: Whole
    first: Whole
    """Of each trace: where its spans begin."""
    kind: Whole


class Writer:
    """Writes the export requests of one data set."""

    def __init__(self, shape: Shape) -> None:
        """Makes the texts beforehand."""
        self._shape = shape
        self._texts = Texts(shape.seed)
        self._users = pieces([attribute("user.id", user_id(number)) for number in range(shape.users)])

    def requests(self, rows: Rows, chunk: int) -> Iterator[Request]:
        """Yields the requests of a chunk, `rows`, oldest first; a trace is in one request."""
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

    def _tails(self, rng: np.random.Generator, rows: Rows, spans: _Spans) -> Pieces:
        """Returns what of each span has no fixed length, in pieces: (spans, pieces)."""
        texts, is_small = self._texts, self._shape.documents == "small"
        count = len(spans.trace)
        tails = np.full((count, 5), b"", np.object_)
        for kind, fixed in _FIXED.items():
            tails[spans.kind == kind, 0] = fixed
        roots, agents = spans.first, np.flatnonzero(spans.kind == _AGENT)
        models, tools = np.flatnonzero(spans.kind == _MODEL), np.flatnonzero(spans.kind == _TOOL)
        tails[roots, 0] = self._identities(rows)
        tails[roots, 1] = _taken(rng, texts.short_questions if is_small else texts.questions, len(roots))
        tails[roots, 2] = _taken(rng, texts.short_outcomes if is_small else texts.outcomes, len(roots))
        tails[agents, 1] = _MEMBERS[(rows.agents[spans.trace[agents]] + spans.place[agents]) % len(_MEMBERS)]
        tails[agents, 2] = _taken(rng, texts.questions, len(agents))
        tails[agents, 3] = _taken(rng, texts.outcomes, len(agents))
        tails[models, 1] = _taken(rng, _MODELS, len(models))
        tails[models, 2] = _taken(rng, texts.histories, len(models))
        tails[models, 3] = _taken(rng, texts.answers, len(models))
        prompts, completions = _taken(rng, texts.prompts, len(models)), _taken(rng, texts.completions, len(models))
        tails[models, 4] = prompts + completions
        tails[tools, 1] = _taken(rng, _TOOLS, len(tools))
        tails[tools, 2] = _taken(rng, texts.arguments, len(tools))
        tails[tools, 3] = _taken(rng, texts.results, len(tools))
        last = np.concatenate([spans.first[1:], [count]]) - 1
        wrong = np.union1d(roots[rows.failed], last[rows.failed])
        tails[wrong, 4] += _ERROR
        return tails

    def _identities(self, rows: Rows) -> Pieces:
        """Returns name, kind and ids of each trace, as its root span tells them."""
        sessions = _fixed_attributes("session.id", session_texts(rows), rows.has_session)
        runs = _fixed_attributes("agno.run.id", run_texts(rows), rows.has_run)
        users = self._users[np.maximum(rows.users, 0)]
        users[rows.users < 0] = b""
        owners = _OWNERS[rows.kinds, rows.agents]
        identities: Pieces = _NAMES[rows.names] + owners + sessions + runs + users
        return identities


def _owners() -> Pieces:
    """Returns what tells which agent, team or workflow runs: (kinds, agents)."""
    owners = np.empty((3, len(AGENTS)), np.object_)
    for place, (agent, agent_id) in enumerate(zip(AGENTS, AGENT_IDS, strict=True)):
        for kind in range(3):
            told = "CHAIN" if kind == WORKFLOW else "AGENT"
            ids = [
                attribute("agno.agent.id", agent_id) + attribute("agent.name", agent),
                attribute("agno.team.id", TEAM_IDS[place % len(TEAM_IDS)]),
                attribute("agno.workflow.id", WORKFLOW_IDS[place % len(WORKFLOW_IDS)]),
            ]
            owners[kind, place] = attribute("openinference.span.kind", told) + ids[kind]
    return owners


_OWNERS = _owners()


def _lay_out(rows: Rows) -> _Spans:
    """Returns the spans of all traces: a root, then models and tools in turn, in large traces below agents."""
    trace = np.repeat(np.arange(len(rows.spans)), rows.spans)
    first = np.cumsum(rows.spans) - rows.spans
    place = np.arange(len(trace)) - first[trace]
    kind = np.where(place % 2 == 1, _MODEL, _TOOL)
    is_large = rows.spans[trace] > _GROUP + 1
    kind[is_large & ((place - 1) % _GROUP == 0)] = _AGENT
    kind[place == 0] = _ROOT
    return _Spans(trace, place, first, kind)


def _heads(rng: np.random.Generator, rows: Rows, spans: _Spans, tails: Whole) -> tuple[Pieces, Pieces]:
    """Returns what of each span has a fixed length: tag and length, ids, times; and by itself its parent's id.

    Args:
        rng: draws the span ids.
        rows: the traces.
        spans: the spans.
        tails: the bytes of the rest of each span.
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
    parents = _as_pieces(_tagged(b"\x22\x08", ids[_parents(rows, spans)]))
    parents[spans.place == 0] = b""
    lengths = heads.shape[1] - 3 + tails + np.where(spans.place == 0, 0, 10)
    # Two bytes of a varint hold lengths up to 16,383, and ours are between.
    heads[:, 0] = 0x12
    heads[:, 1] = lengths & 0x7F | 0x80
    heads[:, 2] = lengths >> 7
    return _as_pieces(heads), parents


def _parents(rows: Rows, spans: _Spans) -> Whole:
    """Returns where the parent of each span is; a root is its own."""
    first = spans.first[spans.trace]
    head_of_group = first + 1 + (spans.place - 1) // _GROUP * _GROUP
    is_below = (rows.spans[spans.trace] > _GROUP + 1) & (spans.kind != _AGENT) & (spans.place > 0)
    return np.where(is_below, head_of_group, first)


def _times(rows: Rows, spans: _Spans) -> tuple[Whole, Whole]:
    """Returns when each span starts and ends, in nanoseconds since 1970: one after another within the root."""
    total, start, duration = (column[spans.trace] for column in (rows.spans, rows.starts, rows.durations))
    until = np.where(spans.kind == _AGENT, np.minimum(spans.place + _GROUP, total), spans.place + 1)
    until = np.where(spans.place == 0, total + 1, until)
    starts = start + duration * spans.place // (total + 1)
    ends = start + duration * until // (total + 1)
    return starts * 1_000, ends * 1_000


def _request(spans: Pieces) -> bytes:
    return export_request(_RESOURCE, _SCOPE, b"".join(spans.ravel().tolist()))


def _taken(rng: np.random.Generator, made: Pieces, count: int) -> Pieces:
    return made[rng.integers(0, len(made), count)]


def _tagged(tag: bytes, content: Bytes) -> Bytes:
    return np.hstack([np.tile(np.frombuffer(tag, np.uint8), (len(content), 1)), content])


def _fixed_attributes(key: str, texts: Bytes, present: Truth) -> Pieces:
    """Returns an attribute for each text of one width; where not `present` there is none."""
    width = texts.shape[1]
    framing = attribute(key, "0" * width)[:-width]
    made = _as_pieces(_tagged(framing, texts))
    made[~present] = b""
    return made


def _as_pieces(rows: Bytes) -> Pieces:
    """Returns every row of (n, w) bytes as one piece."""
    return pieces(np.frombuffer(rows.tobytes(), f"V{rows.shape[1]}").tolist())
