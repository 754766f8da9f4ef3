"""Random spans of the traces of a chunk: their kinds, order and times, what they say, and which of them failed.

From here they are encoded as requests (`documents.py`), and written to the tables that other engines search
(`tables.py`): both are made of the same draw.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from spanwise.bench.data.texts import STEPS, Texts, call_ids, uuid_texts

if TYPE_CHECKING:
    from spanwise.bench.data.rows import BoolArray, IntArray, Rows
    from spanwise.bench.data.shape import Shape
    from spanwise.bench.data.texts import ByteStrings, Pool

GROUP = 12
"""In larger traces, groups of this many spans have an agent span as parent."""
ROOT, AGENT, MODEL, TOOL = range(4)
MODELS = ("gpt-4.1", "gpt-4o-mini", "o4-mini", "claude-sonnet-4")
_MODEL_WEIGHTS = (0.45, 0.3, 0.15, 0.1)
TOOLS = ("search_documents", "get_record", "run_query", "send_message", "read_page", "convert_amount")
_TOOL_WEIGHTS = (0.3, 0.25, 0.2, 0.12, 0.08, 0.05)
_FAILED_TOOL_SHARE, _FAILED_ROOT_SHARE = 0.5, 0.5
"""Of the tools, and of the roots, of failed traces."""
_WITH_TOOL = 3
"""From so many spans on, a trace has a tool."""

_TOKENS = 4_096
_PROMPT_TOKENS, _COMPLETION_TOKENS = (1_200, 1.0, 64_000), (180, 0.9, 16_000)
"""Median, spread and maximum of log-normal numbers."""
_INPUT_COLUMNS, _OUTPUT_COLUMNS = 6, 4


class Layout(NamedTuple):
    """The spans of a chunk, trace by trace, in the order of their trees.

    Attributes:
        trace: the index of the trace in the chunk.
        place: the position within the trace.
        first: for each trace, the index of its first span.
        kind: `ROOT`, `AGENT`, `MODEL` or `TOOL`.
        parents: the index of the parent; a root is its own.
        last: the index of the last span below it, or its own.
        starts: Unix time in microseconds.
        ends: likewise.
    """

    trace: IntArray
    place: IntArray
    first: IntArray
    kind: IntArray
    parents: IntArray
    last: IntArray
    starts: IntArray
    ends: IntArray

    def __len__(self) -> int:
        """Returns the number of spans."""
        return len(self.trace)


class Spans(NamedTuple):
    """The spans of a chunk, and what is drawn for each of them.

    Attributes:
        layout: which spans there are.
        inputs: (n, w) byte strings: before the text, then its pieces; all empty where there is none.
        outputs: likewise.
        sizes: the length of both together, encoded, in bytes.
        failures: the number of the message of a failed span, in `Texts.failures`; -1 of others.
        models: the index in `MODELS`; -1 for none.
        tools: the index in `TOOLS`; -1 for none.
        members: the index of the agent's name in `AGENTS`; -1 of spans that are no agent within a trace.
        prompt_tokens: the index in `Drawer.prompt_tokens`; -1 for none.
        completion_tokens: likewise.
    """

    layout: Layout
    inputs: ByteStrings
    outputs: ByteStrings
    sizes: IntArray
    failures: IntArray
    models: IntArray
    tools: IntArray
    members: IntArray
    prompt_tokens: IntArray
    completion_tokens: IntArray


class Drawer:
    """Draws the spans of one data set."""

    def __init__(self, shape: Shape) -> None:
        """Builds the texts in advance."""
        self._shape = shape
        self.texts = Texts(shape.seed)
        rng = np.random.default_rng([shape.seed, 0x70CE])
        self.prompt_tokens = _token_counts(rng, *_PROMPT_TOKENS)
        self.completion_tokens = _token_counts(rng, *_COMPLETION_TOKENS)

    def draw(self, rows: Rows, chunk: int) -> Spans:
        """Draws the spans of the traces of a chunk, deterministically."""
        rng = np.random.default_rng([self._shape.seed, chunk, 1])
        layout = lay_out(rows)
        count = len(layout)
        models, tools, members = (np.full(count, -1) for _ in range(3))
        prompts, completions = (np.full(count, -1) for _ in range(2))
        of_models, of_tools = np.flatnonzero(layout.kind == MODEL), np.flatnonzero(layout.kind == TOOL)
        of_agents = np.flatnonzero(layout.kind == AGENT)
        models[of_models] = rng.choice(len(MODELS), len(of_models), p=_MODEL_WEIGHTS)
        tools[of_tools] = rng.choice(len(TOOLS), len(of_tools), p=_TOOL_WEIGHTS)
        members[of_agents] = rows.agents[layout.trace[of_agents]] + layout.place[of_agents]
        prompts[of_models] = rng.integers(0, _TOKENS, len(of_models))
        completions[of_models] = rng.integers(0, _TOKENS, len(of_models))
        failures = _failures(rng, rows, layout, len(self.texts.failures))
        inputs, outputs, sizes = self._said(rng, layout, failures >= 0)
        return Spans(layout, inputs, outputs, sizes, failures, models, tools, members, prompts, completions)

    def _said(
        self, rng: np.random.Generator, layout: Layout, failed: BoolArray
    ) -> tuple[ByteStrings, ByteStrings, IntArray]:
        """Returns the inputs and outputs of all spans, and their sizes. A failed tool has no output."""
        texts, is_small = self.texts, self._shape.documents == "small"
        traces = len(layout.first)
        languages = texts.languages(rng, traces)
        customers = rng.integers(0, len(texts.customers.ids), traces)
        shared = {
            "customer": texts.customers.ids[customers],
            "email": texts.customers.emails[customers],
            "order": texts.customers.orders[customers],
            "ticket": uuid_texts(rng, traces),
        }
        conversations = texts.choose(rng, languages) // STEPS * STEPS
        inputs = np.full((len(layout), _INPUT_COLUMNS), b"", np.object_)
        outputs = np.full((len(layout), _OUTPUT_COLUMNS), b"", np.object_)
        sizes = np.zeros(len(layout), np.int64)

        def say(columns: ByteStrings, spans: IntArray, pool: Pool, chosen: IntArray | None = None) -> None:
            of_trace = layout.trace[spans]
            chosen = texts.choose(rng, languages[of_trace]) if chosen is None else chosen
            contents = {kind: shared[kind][of_trace] for kind in pool.kinds if kind in shared}
            contents |= {kind: self._drawn(rng, kind, len(spans)) for kind in pool.kinds if kind not in shared}
            columns[spans, : pool.columns] = pool.fill(chosen, contents)
            sizes[spans] += pool.sizes[chosen]

        roots, agents, models, tools = (np.flatnonzero(layout.kind == kind) for kind in (ROOT, AGENT, MODEL, TOOL))
        say(inputs, roots, texts.short_questions if is_small else texts.questions)
        say(outputs, roots, texts.short_outcomes if is_small else texts.outcomes)
        if not is_small:
            say(inputs, agents, texts.questions)
            say(outputs, agents, texts.outcomes)
            steps = np.minimum(layout.place[models] // 2, STEPS - 1)
            say(inputs, models, texts.histories, conversations[layout.trace[models]] + steps)
            say(outputs, models, texts.answers)
            say(inputs, tools, texts.arguments)
            say(outputs, tools[~failed[tools]], texts.results)
        return inputs, outputs, sizes

    def _drawn(self, rng: np.random.Generator, kind: str, count: int) -> ByteStrings:
        """Returns what fills holes of a kind that belongs to the span."""
        if kind == "uuid":
            return uuid_texts(rng, count)
        if kind == "call":
            return call_ids(rng, count)
        symbols = self.texts.customers.symbols
        drawn: ByteStrings = symbols[rng.integers(0, len(symbols), count)]
        return drawn


def lay_out(rows: Rows) -> Layout:
    """Returns the spans of all traces: a root, then models and tools alternately, below agents in large traces."""
    trace = np.repeat(np.arange(len(rows.spans)), rows.spans)
    first = np.cumsum(rows.spans) - rows.spans
    place = np.arange(len(trace)) - first[trace]
    total = rows.spans[trace]
    is_large = total > GROUP + 1
    kind = np.where(place % 2 == 1, MODEL, TOOL)
    kind[is_large & ((place - 1) % GROUP == 0)] = AGENT
    kind[place == 0] = ROOT
    head_of_group = first[trace] + 1 + (place - 1) // GROUP * GROUP
    is_below = is_large & (kind != AGENT) & (place > 0)
    parents = np.where(is_below, head_of_group, first[trace])
    # Consecutive within the root: each span ends where the next one at its level starts.
    until = np.where(kind == AGENT, np.minimum(place + GROUP, total), place + 1)
    until = np.where(place == 0, total, until)
    start, duration = rows.starts[trace], rows.durations[trace]
    starts = start + duration * place // (total + 1)
    ends = start + duration * np.where(place == 0, total + 1, until) // (total + 1)
    return Layout(trace, place, first, kind, parents, first[trace] + until - 1, starts, ends)


def _failures(rng: np.random.Generator, rows: Rows, layout: Layout, messages: int) -> IntArray:
    """Returns the message of each failed span: in a failed trace some tools fail, and the root half the time."""
    of_failed = rows.failed[layout.trace]
    is_tool = layout.kind == TOOL
    wrong = of_failed & is_tool & (rng.random(len(layout)) < _FAILED_TOOL_SHARE)
    failing_tools = np.bincount(layout.trace[wrong], minlength=len(rows.failed))
    # The third span is a tool in every trace that has one.
    spared = np.flatnonzero(rows.failed & (failing_tools == 0) & (rows.spans >= _WITH_TOOL))
    wrong[layout.first[spared] + 2] = True
    root_fails = rows.failed & ((rng.random(len(rows.failed)) < _FAILED_ROOT_SHARE) | (rows.spans < _WITH_TOOL))
    wrong[layout.first[root_fails]] = True
    drawn: IntArray = np.where(wrong, rng.integers(0, messages, len(layout)), -1)
    return drawn


def _token_counts(rng: np.random.Generator, middle: int, spread: float, most: int) -> IntArray:
    counts: IntArray = np.clip(middle * rng.lognormal(0.0, spread, _TOKENS), 1, most).astype(np.int64)
    return counts
