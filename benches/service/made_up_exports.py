"""Files with the same made-up traces in every format that `spanwise import` reads, for `imports.py`.

A trace is a run of an agent: three model calls, each with the messages so far, two tool calls, and one or two searches.
It has 7 or 8 spans with about 9 KB of texts.
"""

from __future__ import annotations

import json
import sqlite3
import tempfile
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from random import Random
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from opentelemetry.proto.common.v1.common_pb2 import AnyValue, InstrumentationScope, KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import ResourceSpans, ScopeSpans, Span, Status, TracesData

from spanwise import Filter, TraceStore
from spanwise.bench.data.words import Sentences

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

SEED = 7
MODEL = "gpt-4o-mini"
_FIRST = 1_795_000_000_000_000_000
"""The start of the first trace, in nanoseconds since 1970."""
_TRACES_A_REQUEST = 25
_CHAT = pa.list_(pa.struct({"message.role": pa.string(), "message.content": pa.string()}))
_DOCUMENTS = pa.list_(pa.struct({"document.content": pa.string(), "document.score": pa.float64()}))
_EXCEPTION = pa.struct({"exception.type": pa.string(), "exception.message": pa.string()})
_EVENTS = pa.list_(pa.struct({"name": pa.string(), "timestamp": pa.string(), "attributes": _EXCEPTION}))
_PHOENIX_TEXTS = """name span_kind parent_id status_code status_message context.span_id context.trace_id
attributes.openinference.span.kind attributes.input.value attributes.output.value attributes.llm.model_name
attributes.llm.invocation_parameters attributes.tool.name attributes.session.id attributes.user.id"""
_PHOENIX_OTHERS = {
    "start_time": pa.timestamp("ns", "UTC"),
    "end_time": pa.timestamp("ns", "UTC"),
    "events": _EVENTS,
    "attributes.llm.input_messages": _CHAT,
    "attributes.llm.output_messages": _CHAT,
    "attributes.llm.token_count.prompt": pa.float64(),
    "attributes.llm.token_count.completion": pa.float64(),
    "attributes.retrieval.documents": _DOCUMENTS,
    "attributes.metadata": pa.struct({"release": pa.string()}),
}
_PHOENIX = pa.schema(dict.fromkeys(_PHOENIX_TEXTS.split(), pa.large_string()) | _PHOENIX_OTHERS)
_LANGFUSE = {
    "metadata": pa.map_(pa.string(), pa.string()),
    "usage_details": pa.map_(pa.string(), pa.uint64()),
    "cost_details": pa.map_(pa.string(), pa.float64()),
}


@dataclass(frozen=True, slots=True)
class MadeUpSpan:
    """A span of a made-up trace; times are nanoseconds since 1970."""

    trace_id: str
    span_id: str
    parent_id: str | None
    name: str
    kind: str
    start: int
    end: int
    input: str
    output: str
    messages: tuple[tuple[str, str], ...] = ()
    tokens: tuple[int, int] | None = None
    failure: str = ""
    session_id: str = ""
    user_id: str = ""


def traces(count: int) -> Iterator[list[MadeUpSpan]]:
    """Yields the same `count` traces at each call, each as its spans with the root first."""
    rng = Random(SEED)  # reproducible, not for security
    sentences = Sentences(np.random.default_rng(SEED)).english(4096)

    def text(least: int, most: int) -> str:
        return " ".join(rng.choices(sentences, k=rng.randint(least, most)))

    systems = [text(4, 7) for _ in range(40)]
    for number in range(count):
        trace_id, start = f"{rng.getrandbits(128) | 1:032x}", _FIRST + number * 40_000_000
        question, spans = text(1, 4), list[MadeUpSpan]()
        root_id = f"{rng.getrandbits(64) | 1:016x}"

        def step(name: str, kind: str, given: str, found: str, **more: Any) -> None:
            begin = start + len(spans) * 300_000_000  # noqa: B023  # called within the iteration
            own_id = f"{rng.getrandbits(64) | 1:016x}"
            times = (begin, begin + rng.randrange(1_000_000, 290_000_000))
            spans.append(MadeUpSpan(trace_id, own_id, root_id, name, kind, *times, given, found, **more))  # noqa: B023

        said = [("system", rng.choice(systems)), ("user", question)]
        for turn in range(3):
            reply = text(2, 6)
            tokens = (sum(len(content) for _, content in said) // 4, len(reply) // 4)
            step("chat", "LLM", said[-1][1], reply, messages=(*said, ("assistant", reply)), tokens=tokens)
            said.append(("assistant", reply))
            if turn < 2:  # every turn but the last calls a tool
                failure = "the service did not answer" if rng.random() < 0.05 else ""
                step(f"lookup_{turn}", "TOOL", json.dumps({"query": text(1, 1)}), text(2, 5), failure=failure)
                said.append(("tool", spans[-1].output))
        for _ in range(rng.randint(1, 2)):
            step("search", "RETRIEVER", text(1, 1), text(3, 6))
        root = MadeUpSpan(trace_id, root_id, None, "support", "AGENT", start, spans[-1].end, question, said[-1][1])
        yield [replace(root, session_id=f"session-{number // 3}", user_id=f"user-{number % 5000}"), *spans]


def write_otlp(path: Path, made_up: Sequence[list[MadeUpSpan]]) -> None:
    """Writes one protobuf message, as OpenInference sends it."""
    with path.open("wb") as file:
        file.writelines(
            _request(made_up[begin : begin + _TRACES_A_REQUEST]) for begin in range(0, len(made_up), _TRACES_A_REQUEST)
        )


def write_own_parquet(path: Path, made_up: Sequence[list[MadeUpSpan]]) -> None:
    """Writes the output format of `spanwise export`."""
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        store = TraceStore.open(folder)
        for begin in range(0, len(made_up), _TRACES_A_REQUEST):
            body = _request(made_up[begin : begin + _TRACES_A_REQUEST])
            assert store.ingest(body, "application/x-protobuf").rejected_spans == 0
        with path.open("wb") as file:
            file.writelines(store.export(Filter.compile(b"null"), "parquet"))
        store.close()


def write_phoenix_parquet(path: Path, made_up: Sequence[list[MadeUpSpan]]) -> None:
    """Writes the data frame of Phoenix's client by `to_parquet`."""
    rows = [_phoenix(span) for spans in made_up for span in spans]
    pq.write_table(pa.Table.from_pylist(rows, _PHOENIX), path)


def write_phoenix_lines(path: Path, made_up: Sequence[list[MadeUpSpan]]) -> None:
    """Writes the data frame of Phoenix's client by `to_json(lines=True)`: every column in every row."""
    with path.open("w") as file:
        for spans in made_up:
            for span in spans:
                row = dict.fromkeys(_PHOENIX.names) | _phoenix(span)
                times = {name: _iso(row[name], "T") + "000Z" for name in ("start_time", "end_time")}
                file.write(json.dumps(row | times) + "\n")


def write_langfuse_parquet(path: Path, made_up: Sequence[list[MadeUpSpan]]) -> None:
    """Writes observations as Langfuse exports them to blob storage, in columns."""
    rows = [_langfuse(span) for spans in made_up for span in spans]
    columns: dict[str, Any] = {name: [row[name] for row in rows] for name in rows[0]}
    for name, kind in _LANGFUSE.items():
        columns[name] = pa.array([list(value.items()) for value in columns[name]], kind)
    pq.write_table(pa.table(columns), path)


def write_langfuse_lines(path: Path, made_up: Sequence[list[MadeUpSpan]]) -> None:
    """Writes the same observations, one per line."""
    with path.open("w") as file:
        file.writelines(json.dumps(_langfuse(span)) + "\n" for spans in made_up for span in spans)


def write_jaeger(path: Path, made_up: Sequence[list[MadeUpSpan]]) -> None:
    """Writes the response of Jaeger's `GET /api/traces`."""
    process = {"serviceName": "support", "tags": [{"key": "host.name", "type": "string", "value": "one"}]}
    with path.open("w") as file:
        file.write('{"data":[')
        for number, spans in enumerate(made_up):
            found = [_jaeger(span) for span in spans]
            trace = {"traceID": spans[0].trace_id, "spans": found, "processes": {"p1": process}, "warnings": None}
            file.write("," * (number > 0) + json.dumps(trace))
        file.write('],"total":0,"limit":0,"offset":0,"errors":null}')


def write_agno(path: Path, made_up: Sequence[list[MadeUpSpan]]) -> None:
    """Writes the tables of agno, in SQLite."""
    database = sqlite3.connect(path)
    times = "start_time TEXT, end_time TEXT"
    database.execute(f"CREATE TABLE agno_traces (trace_id TEXT PRIMARY KEY, name TEXT, {times}, created_at TEXT)")
    database.execute(
        "CREATE TABLE agno_spans (span_id TEXT PRIMARY KEY, trace_id TEXT, parent_span_id TEXT, name TEXT, "
        f"span_kind TEXT, status_code TEXT, status_message TEXT, {times}, attributes JSON, created_at TEXT)"
    )
    database.execute("CREATE INDEX idx_agno_spans_trace_id ON agno_spans (trace_id)")
    for spans in made_up:
        root = spans[0]
        own = (_iso(root.start, "T") + "+00:00", _iso(root.end, "T") + "+00:00")
        database.execute("INSERT INTO agno_traces VALUES (?, ?, ?, ?, ?)", (root.trace_id, root.name, *own, own[1]))
        database.executemany("INSERT INTO agno_spans VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", map(_agno, spans))
    database.commit()
    database.close()


FORMATS: dict[str, Callable[[Path, Sequence[list[MadeUpSpan]]], None]] = {
    "otlp": write_otlp,
    "own-parquet": write_own_parquet,
    "phoenix-parquet": write_phoenix_parquet,
    "phoenix-lines": write_phoenix_lines,
    "langfuse-parquet": write_langfuse_parquet,
    "langfuse-lines": write_langfuse_lines,
    "jaeger": write_jaeger,
    "agno": write_agno,
}
"""The writer of each format."""


def _attributes(span: MadeUpSpan) -> dict[str, str | int]:
    """Returns the attributes of a span as OpenInference sends them."""
    found: dict[str, str | int] = {
        "openinference.span.kind": span.kind,
        "input.value": span.input,
        "output.value": span.output,
    }
    if span.tokens is not None:
        found |= {"llm.model_name": MODEL, "llm.invocation_parameters": '{"temperature": 0}'}
        found |= {"llm.token_count.prompt": span.tokens[0], "llm.token_count.completion": span.tokens[1]}
        for number, (role, content) in enumerate(span.messages[:-1]):
            found[f"llm.input_messages.{number}.message.role"] = role
            found[f"llm.input_messages.{number}.message.content"] = content
        found["llm.output_messages.0.message.role"] = "assistant"
        found["llm.output_messages.0.message.content"] = span.output
    elif span.kind == "RETRIEVER":
        found |= {"retrieval.documents.0.document.content": span.output}
    elif span.kind == "TOOL":
        found |= {"tool.name": span.name}
    else:
        found |= {"session.id": span.session_id, "user.id": span.user_id, "metadata": '{"release":"1.2.0"}'}
    return found


def _status(span: MadeUpSpan) -> Status:
    return Status(code=Status.STATUS_CODE_ERROR if span.failure else Status.STATUS_CODE_OK, message=span.failure)


def _request(made_up: Sequence[list[MadeUpSpan]]) -> bytes:
    def pair(key: str, value: str | int) -> KeyValue:
        of_text = AnyValue(string_value=value) if isinstance(value, str) else None
        return KeyValue(key=key, value=of_text or AnyValue(int_value=int(value)))

    encoded = [
        Span(
            trace_id=bytes.fromhex(span.trace_id),
            span_id=bytes.fromhex(span.span_id),
            parent_span_id=bytes.fromhex(span.parent_id or ""),
            name=span.name,
            kind=Span.SPAN_KIND_INTERNAL,
            start_time_unix_nano=span.start,
            end_time_unix_nano=span.end,
            attributes=[pair(key, value) for key, value in _attributes(span).items()],
            status=_status(span),
        )
        for spans in made_up
        for span in spans
    ]
    scope = ScopeSpans(scope=InstrumentationScope(name="openinference.instrumentation.openai"), spans=encoded)
    resource = ResourceSpans(scope_spans=[scope])
    resource.resource.attributes.append(pair("service.name", "support"))
    request: bytes = TracesData(resource_spans=[resource]).SerializeToString()
    return request


def _phoenix(span: MadeUpSpan) -> dict[str, Any]:
    def chat(messages: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
        return [{"message.role": role, "message.content": content} for role, content in messages]

    event = {"name": "exception", "timestamp": _iso(span.end, "T") + "+00:00"}
    failure = {"exception.type": "TimeoutError", "exception.message": span.failure}
    row: dict[str, Any] = {
        "name": span.name,
        "span_kind": span.kind,
        "parent_id": span.parent_id,
        "start_time": span.start,
        "end_time": span.end,
        "status_code": "ERROR" if span.failure else "OK",
        "status_message": span.failure,
        "events": [event | {"attributes": failure}] if span.failure else [],
        "context.span_id": span.span_id,
        "context.trace_id": span.trace_id,
    }
    attributes = {f"attributes.{key}": value for key, value in _attributes(span).items() if ".0." not in key}
    row |= {key: value for key, value in attributes.items() if key in _PHOENIX.names}
    if span.tokens is not None:
        row["attributes.llm.input_messages"] = chat(span.messages[:-1])
        row["attributes.llm.output_messages"] = chat(span.messages[-1:])
    elif span.kind == "RETRIEVER":
        row["attributes.retrieval.documents"] = [{"document.content": span.output, "document.score": 0.9}]
    elif span.parent_id is None:
        row["attributes.metadata"] = {"release": "1.2.0"}
    return row


def _langfuse(span: MadeUpSpan) -> dict[str, Any]:
    types = {"LLM": "GENERATION"}
    given, spent = span.tokens or (0, 0)
    messages = [{"role": role, "content": content} for role, content in span.messages[:-1]]
    return {
        "id": span.span_id,
        "trace_id": span.trace_id,
        "start_time": _iso(span.start, " "),
        "end_time": _iso(span.end, " "),
        "project_id": "sample",
        "parent_observation_id": span.parent_id or "",
        "type": types.get(span.kind, span.kind),
        "name": span.name,
        "level": "ERROR" if span.failure else "DEFAULT",
        "status_message": span.failure,
        "version": "",
        "environment": "production",
        "bookmarked": False,
        "public": False,
        "user_id": span.user_id,
        "session_id": span.session_id,
        "completion_start_time": None,
        "created_at": _iso(span.end, " "),
        "updated_at": _iso(span.end, " "),
        "input": json.dumps(messages) if messages else span.input,
        "output": span.output,
        "metadata": {"release": "1.2.0"} if span.parent_id is None else {},
        "provided_model_name": MODEL if span.tokens else "",
        "model_parameters": '{"temperature":0}' if span.tokens else "",
        "usage_details": {"input": given, "output": spent, "total": given + spent} if span.tokens else {},
        "cost_details": {"total": (given + 4 * spent) * 1.5e-7} if span.tokens else {},
        "total_cost": (given + 4 * spent) * 1.5e-7,
        "prompt_name": "",
        "latency": (span.end - span.start) / 1e9,
        "trace_name": "support",
        "tags": ["demo"],
        "release": "1.2.0",
    }


def _jaeger(span: MadeUpSpan) -> dict[str, Any]:
    kinds = {int: "int64", str: "string"}
    parent = [{"refType": "CHILD_OF", "traceID": span.trace_id, "spanID": span.parent_id}] if span.parent_id else []
    said = _attributes(span) | {"otel.scope.name": "openinference.instrumentation.openai", "span.kind": "internal"}
    said |= {"error": "true", "otel.status_description": span.failure} if span.failure else {"otel.status_code": "OK"}
    return {
        "traceID": span.trace_id,
        "spanID": span.span_id,
        "operationName": span.name,
        "references": parent,
        "startTime": span.start // 1000,
        "duration": (span.end - span.start) // 1000,
        "tags": [{"key": key, "type": kinds[type(value)], "value": value} for key, value in said.items()],
        "logs": [],
        "processID": "p1",
        "warnings": None,
    }


def _agno(span: MadeUpSpan) -> tuple[str | None, ...]:
    times = tuple(_iso(at, "T") + "+00:00" for at in (span.start, span.end))
    own = (span.span_id, span.trace_id, span.parent_id, span.name, "INTERNAL", "ERROR" if span.failure else "OK")
    return (*own, span.failure or None, *times, json.dumps(_attributes(span)), times[1])


def _iso(nanos: int, between: str) -> str:
    at = datetime.fromtimestamp(nanos // 1_000_000_000, UTC)
    return f"{at:%Y-%m-%d}{between}{at:%H:%M:%S}.{nanos // 1000 % 1_000_000:06}"
