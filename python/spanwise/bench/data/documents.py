"""OTLP requests with the spans of generated rows, encoded by concatenating columns of bytes."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.bench.data.otlp_encoding import attribute, export_request, field
from spanwise.bench.data.rows import WORKFLOW, run_texts, session_texts
from spanwise.bench.data.shape import AGENT_IDS, AGENTS, NAMES, TEAM_IDS, WORKFLOW_IDS, user_id
from spanwise.bench.data.spans import AGENT, MODEL, MODELS, ROOT, TOOL, TOOLS, Drawer
from spanwise.bench.data.texts import as_byte_strings, byte_strings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanwise.bench.data.rows import BoolArray, ByteArray, IntArray, Rows
    from spanwise.bench.data.shape import Shape
    from spanwise.bench.data.spans import Layout, Spans
    from spanwise.bench.data.texts import ByteStrings

SPANS_A_REQUEST = 512

_RESOURCE = attribute("service.name", "agents", 1) + attribute("telemetry.sdk.language", "python", 1)
_SCOPE = field(1, b"openinference.instrumentation.agno") + field(2, b"1.0.15")
_JSON = attribute("input.mime_type", "application/json") + attribute("output.mime_type", "application/json")
_FIXED = {
    ROOT: b"",
    AGENT: attribute("openinference.span.kind", "AGENT"),
    MODEL: attribute("openinference.span.kind", "LLM") + attribute("llm.provider", "OpenAI") + _JSON,
    TOOL: attribute("openinference.span.kind", "TOOL") + attribute("output.mime_type", "text/plain"),
}
MODEL_CALL = "OpenAIChat.invoke"
"""The name of a span that calls a model."""
_MODELS = byte_strings([field(5, MODEL_CALL.encode()) + attribute("llm.model_name", model) for model in MODELS])
_TOOLS = byte_strings([field(5, tool.encode()) + attribute("tool.name", tool) for tool in TOOLS])
_MEMBERS = byte_strings([field(5, f"{agent}.run".encode()) + attribute("agent.name", agent) for agent in AGENTS])
_NAMES = byte_strings([field(5, name.encode()) for name in NAMES])


class Request(NamedTuple):
    """One OTLP request: its body, and the number of its spans."""

    body: bytes
    spans: int


class Writer:
    """Encodes the OTLP requests of one data set."""

    def __init__(self, shape: Shape) -> None:
        """Builds the texts in advance."""
        self._shape = shape
        self._drawer = Drawer(shape)
        self._users = byte_strings([attribute("user.id", user_id(number)) for number in range(shape.users)])
        self._failures = byte_strings(
            [field(15, field(2, message.encode()) + b"\x18\x02") for message in self._drawer.texts.failures]
        )
        self._prompts = _numbers("llm.token_count.prompt", self._drawer.prompt_tokens)
        self._completions = _numbers("llm.token_count.completion", self._drawer.completion_tokens)

    def requests(self, rows: Rows, chunk: int) -> Iterator[Request]:
        """Yields the requests for the rows of a chunk, oldest first. A trace is never split."""
        spans = self._drawer.draw(rows, chunk)
        count = len(spans.layout)
        fixed = self._fixed(rows, spans)
        lengths = np.fromiter(map(len, chain.from_iterable(fixed)), np.int64, fixed.size).reshape(fixed.shape)
        rng = np.random.default_rng([self._shape.seed, chunk, 2])
        heads, parents = _heads(rng, rows, spans.layout, lengths.sum(axis=1) + spans.sizes)
        everything = np.hstack([heads[:, None], parents[:, None], fixed, spans.inputs, spans.outputs])
        ends = [*spans.layout.first[1:].tolist(), count]
        begin = 0
        for end in ends:
            if end - begin >= SPANS_A_REQUEST or end == count:
                yield Request(_request(everything[begin:end]), end - begin)
                begin = end

    def _fixed(self, rows: Rows, spans: Spans) -> ByteStrings:
        """Returns the fields without texts: kind or identity, name and what belongs to it, tokens or failure."""
        kind = spans.layout.kind
        fixed = np.full((len(kind), 4), b"", np.object_)
        for number, made in _FIXED.items():
            fixed[kind == number, 0] = made
        fixed[spans.layout.first, 0] = self._identities(rows)
        for numbers, names in ((spans.members, _MEMBERS), (spans.models, _MODELS), (spans.tools, _TOOLS)):
            present = numbers >= 0
            fixed[present, 1] = names[numbers[present] % len(names)]
        models, failed = spans.models >= 0, spans.failures >= 0
        fixed[models, 2] = self._prompts[spans.prompt_tokens[models]]
        fixed[models, 3] = self._completions[spans.completion_tokens[models]]
        fixed[failed, 3] += self._failures[spans.failures[failed]]
        return fixed

    def _identities(self, rows: Rows) -> ByteStrings:
        """Returns the name, kind and ids of each trace, encoded as fields of its root span."""
        sessions = _fixed_attributes("session.id", session_texts(rows), rows.has_session)
        runs = _fixed_attributes("agno.run.id", run_texts(rows), rows.has_run)
        users = self._users[np.maximum(rows.users, 0)]
        users[rows.users < 0] = b""
        owners = _OWNERS[rows.kinds, rows.agents]
        identities: ByteStrings = _NAMES[rows.names] + owners + sessions + runs + users
        return identities


def _numbers(key: str, numbers: IntArray) -> ByteStrings:
    return byte_strings([attribute(key, number) for number in numbers.tolist()])


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


def _heads(rng: np.random.Generator, rows: Rows, layout: Layout, tails: IntArray) -> tuple[ByteStrings, ByteStrings]:
    """Returns the fields of fixed length (tag and length, ids, times), and the parent ids.

    Args:
        rng: the generator for span ids.
        rows: the traces.
        layout: the spans.
        tails: the length of the remaining fields of each span.
    """
    count = len(layout)
    ids = rng.integers(0, 256, (count, 8), np.uint8)
    columns = [
        np.empty((count, 3), np.uint8),
        _tagged(b"\x0a\x10", rows.trace_ids[layout.trace]),
        _tagged(b"\x12\x08", ids),
        _tagged(b"\x39", _nanoseconds(layout.starts)),
        _tagged(b"\x41", _nanoseconds(layout.ends)),
    ]
    heads = np.hstack(columns)
    parents = as_byte_strings(_tagged(b"\x22\x08", ids[layout.parents]))
    parents[layout.first] = b""
    lengths = heads.shape[1] - 3 + tails + np.where(layout.place == 0, 0, 10)
    # The lengths fit in a varint of two bytes, from 128 to 16,383.
    heads[:, 0] = 0x12
    heads[:, 1] = lengths & 0x7F | 0x80
    heads[:, 2] = lengths >> 7
    return as_byte_strings(heads), parents


def _nanoseconds(times: IntArray) -> ByteArray:
    """Returns times in microseconds as fixed-length integers of nanoseconds, (n, 8) bytes."""
    return (times * 1_000).astype("<u8").view(np.uint8).reshape(len(times), 8)


def _request(spans: ByteStrings) -> bytes:
    return export_request(_RESOURCE, _SCOPE, b"".join(spans.ravel().tolist()))


def _tagged(tag: bytes, content: ByteArray) -> ByteArray:
    return np.hstack([np.tile(np.frombuffer(tag, np.uint8), (len(content), 1)), content])


def _fixed_attributes(key: str, texts: ByteArray, present: BoolArray) -> ByteStrings:
    """Returns an attribute for each text; empty where not `present`."""
    width = texts.shape[1]
    framing = attribute(key, "0" * width)[:-width]
    made = as_byte_strings(_tagged(framing, texts))
    made[~present] = b""
    return made
