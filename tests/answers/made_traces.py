"""Seeded traces: agents, teams, workflows, bare spans, loops of tools, and a few large ones, in two conventions."""

from __future__ import annotations

import json
from random import Random
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

USERS = ("alice", "bob", "carol", "Ünal", "dave@example.com")
"""The users of traces. Every sixth trace has none."""
DOOMED = "doomed"
"""The value of `tenant` in traces that the fixture deletes."""
_START = 1_790_000_000 * 10**9
_MILLISECOND = 10**6
_SERVICES = ("gateway", "booking", "Booking-eu", "研究")
_ENVIRONMENTS = ("production", "staging", "dev")
_RELEASES = ("1.0.0", "1.1.0-rc1", "2026.09")
_AGENTS = ("travel_agent", "Support", "researcher", "billing")
_MODELS = ("gpt-4o", "gpt-4o-mini", "claude-sonnet-4-20250514", "unheard-of", "openai/gpt-4.1")
_TOOLS = ("search", "book_table", "get_weather", "refund", "approve", "find_order")
_TENANTS = ("acme", "Acme", "globex", "initech", DOOMED)
_ERRORS = (
    "KeyError: 'Atlantis'",
    "rate limit exceeded, retry after 20 s",
    "Connection reset by peer: https://api.example.com/v1/chat",
    "TimeoutError",
    "книга не найдена",
)
_SUBJECTS = ("The guest", "Zoë", "A customer", "Nobody", "Our supplier", "東京の天気", "Команда")
_VERBS = ("wants to book", "asked for", "cancelled", "paid for", "could not find", "returned", "repeats:")
_OBJECTS = (
    "a table for two",
    "the invoice of order A-1042",
    "a flight to Kyoto",
    "an e-mail to ops@example.com",
    '"the blue one"',
    "the snake_case_name of user-4711",
    "晴れ、気温は二十度",
    "50% off (today only!)",
    "it\nagain\ttomorrow",
)
_SECONDS_APART = 37


class TraceMaker:
    """Makes traces by number. The same seed and number give the same trace."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def export(self, numbers: Iterable[int]) -> bytes:
        """Returns an OTLP/JSON request with the traces of these numbers."""
        return _request(part for number in numbers for part in self._trace(number).resource_spans())

    def late_export(self, numbers: Iterable[int]) -> bytes:
        """Returns an OTLP/JSON request with one more span for each trace of these numbers."""
        return _request(part for number in numbers for part in self._late_span(number).resource_spans())

    def log_request(self, numbers: Iterable[int]) -> bytes:
        """Returns an OTLP/JSON request with a message for the first span of each trace of these numbers."""
        records = [
            {
                "traceId": trace_id(number),
                "spanId": f"{1:016x}",
                "eventName": "gen_ai.user.message",
                "timeUnixNano": str(start_of(number) + 1),
                "body": _value({"content": f"a message that came apart: {number}"}),
            }
            for number in numbers
        ]
        return json.dumps({"resourceLogs": [{"scopeLogs": [{"logRecords": records}]}]}).encode()

    def _trace(self, number: int) -> _Trace:
        trace = _Trace(number, Random(f"{self._seed} {number}"))
        draw = trace.draw
        shapes: tuple[Callable[[], None], ...] = (trace.call, trace.agent, trace.team, trace.workflow, trace.loop)
        if number % 199 == 0:
            trace.large()
        elif number % 29 == 0:
            trace.bare()
        elif number % 31 == 0:
            trace.broken()
        else:
            draw.choices(shapes, (2, 6, 2, 2, 2))[0]()
        return trace

    def _late_span(self, number: int) -> _Trace:
        trace = _Trace(number, Random(f"{self._seed} late {number}"))
        trace.span_count = 10_000
        trace.tool(f"{1:016x}")
        return trace


def trace_id(number: int) -> str:
    """Returns the id of a trace. Ids do not follow the order of the numbers."""
    return f"{(number * 0x9E3779B97F4A7C15) % 2**64:016x}{number:016x}"


def start_of(number: int) -> int:
    """Returns the start of a trace in Unix nanoseconds. Three traces share a second, two of them the instant."""
    return _START + number // 3 * _SECONDS_APART * 10**9 + (number % 3 // 2) * 1_500


class _Trace:
    """One trace, to which spans are added."""

    def __init__(self, number: int, draw: Random) -> None:
        self.draw = draw
        self.span_count = 0
        self._number = number
        self._now = start_of(number)
        self._spans: list[dict[str, Any]] = []
        self._is_openinference = draw.randrange(2) == 0
        self._resource = self._drawn_resource()

    def resource_spans(self) -> list[dict[str, Any]]:
        scope = {"name": "openinference.instrumentation.agno" if self._number % 7 == 0 else "made", "version": "1"}
        resource = {"attributes": _attributes(self._resource)}
        return [{"resource": resource, "scopeSpans": [{"scope": scope, "spans": self._spans}]}]

    def call(self) -> None:
        self.model("", self._root())

    def agent(self, parent: str = "") -> None:
        name = self.draw.choice(_AGENTS)
        root = self._agent_span(name, parent, self._root() if not parent else {})
        for _ in range(self.draw.choice((0, 1, 1, 2, 3))):
            self.model(root)
            for _ in range(self.draw.choice((0, 1, 2))):
                self.tool(root)
        self.model(root)

    def team(self) -> None:
        about = self._root() | {"agno.team.id": self.draw.choice(("desk", "Newsroom"))}
        root = self._add("Desk.run", "", {"openinference.span.kind": "AGENT", **about, **self._texts()}, 900)
        for _ in range(self.draw.randrange(1, 4)):
            self.agent(root)

    def workflow(self) -> None:
        about = self._root() | {"agno.workflow.id": self.draw.choice(("packing", "Onboarding")), "agno.run.id": "w1"}
        root = self._add("Packing_Flow.run", "", {"openinference.span.kind": "CHAIN", **about, **self._texts()}, 1_500)
        for step in range(self.draw.randrange(1, 4)):
            chain = self._add(f"step {step}", root, {"openinference.span.kind": "CHAIN"}, 200)
            self.draw.choice((self.agent, self.model, self.tool))(chain)

    def loop(self) -> None:
        root = self._agent_span("looper", "", self._root())
        arguments = {"city": self.draw.choice(("Kyoto", "Atlantis"))}
        tool = self.draw.choice(_TOOLS)
        for turn in range(self.draw.randrange(2, 7)):
            self.model(root)
            self.tool(root, tool, {"turn": turn} if self.draw.randrange(3) == 0 else arguments)

    def bare(self) -> None:
        first = self._add("GET /health", "", {}, 3)
        self._add("select 1", first, {"db.system": "sqlite"}, 0)

    def broken(self) -> None:
        """Adds an orphan, a cycle, a span without an end, and one that ends before it starts."""
        self._add("orphan", "00000000deadbeef", self._root(), 20)
        first = self._add("first of a cycle", f"{self.span_count + 2:016x}", {}, 20)
        self._add("second of a cycle", first, {}, 20)
        self._spans[-1]["endTimeUnixNano"] = str(self._now - 5_000)
        self.model(first)
        self._spans[-1]["endTimeUnixNano"] = "0"

    def large(self) -> None:
        root = self._agent_span("importer", "", self._root())
        for _ in range(self.draw.randrange(40, 200)):
            self.tool(self.model(root) if self.draw.randrange(4) == 0 else root)

    def model(self, parent: str, about: dict[str, Any] | None = None) -> str:
        model = self.draw.choice(_MODELS)
        sent, received = self.draw.randrange(10, 4_000), self.draw.randrange(1, 900)
        if self._is_openinference:
            attributes = {
                "openinference.span.kind": "LLM",
                "llm.model_name": model,
                "llm.provider": model.split("-", maxsplit=1)[0],
                "llm.token_count.prompt": sent,
                "llm.token_count.completion": received,
                "llm.input_messages.0.message.role": "user",
                "llm.input_messages.0.message.content": self._sentence(),
                **self._texts(),
            }
        else:
            message = [{"role": "user", "parts": [{"type": "text", "content": self._sentence()}]}]
            attributes = {
                "gen_ai.operation.name": "chat",
                "gen_ai.request.model": model,
                "gen_ai.provider.name": "openai",
                "gen_ai.usage.input_tokens": sent,
                "gen_ai.usage.output_tokens": received,
                "gen_ai.usage.cache_read.input_tokens": sent // 2,
                "gen_ai.usage.reasoning_tokens": received // 3,
                "gen_ai.input.messages": json.dumps(message, ensure_ascii=self.draw.randrange(2) == 0),
                "gen_ai.output.messages": json.dumps([{"role": "assistant", "content": self._sentence()}]),
            }
        if self.draw.randrange(5) == 0:
            attributes["gen_ai.usage.cost"] = self.draw.randrange(1, 500) / 10_000
        return self._add(f"chat {model}", parent, attributes | (about or {}), self.draw.randrange(5, 1_200))

    def tool(self, parent: str, tool: str | None = None, arguments: dict[str, Any] | None = None) -> str:
        name = tool or self.draw.choice(_TOOLS)
        given = json.dumps(arguments or {"query": self._sentence(), "page": self.draw.randrange(3)})
        if self._is_openinference:
            attributes = {
                "openinference.span.kind": "TOOL",
                "tool.name": name,
                "input.value": given,
                "output.value": self._sentence(),
            }
        else:
            attributes = {
                "gen_ai.operation.name": "execute_tool",
                "gen_ai.tool.name": name,
                "gen_ai.tool.call.arguments": given,
                "gen_ai.tool.call.result": json.dumps({"result": self._sentence()}, ensure_ascii=False),
            }
        error = self.draw.choice(_ERRORS) if self.draw.randrange(7) == 0 else None
        return self._add(f"execute_tool {name}", parent, attributes, self.draw.randrange(300), error)

    def _agent_span(self, name: str, parent: str, about: dict[str, Any]) -> str:
        if self._is_openinference:
            kind = {"openinference.span.kind": "AGENT", "agent.name": name, "agno.agent.id": name.lower()}
            about = {**kind, "agno.run.id": f"run-{self._number}", **about}
        else:
            about = {"gen_ai.operation.name": "invoke_agent", "gen_ai.agent.name": name, **about}
        error = self.draw.choice(_ERRORS) if self.draw.randrange(12) == 0 else None
        return self._add(f"{name}.run", parent, {**about, **self._texts()}, self.draw.randrange(20, 4_000), error)

    def _root(self) -> dict[str, Any]:
        """Draws the attributes of a run root."""
        draw = self.draw
        about: dict[str, Any] = {"tenant": draw.choices(_TENANTS, (6, 2, 4, 4, 1))[0], "attempt": draw.randrange(4)}
        if draw.randrange(6):
            about["user.id"] = draw.choices(USERS, (8, 5, 3, 2, 2))[0]
        if draw.randrange(4):
            about["session.id"] = f"session-{draw.randrange(60)}"
        optional: dict[str, Callable[[], Any]] = {
            "ratio": lambda: draw.randrange(100) / 8,
            "is_cached": lambda: draw.randrange(2) == 0,
            "tags": lambda: draw.sample(["new", "vip", "beta"], 2),
            "payload": lambda: {"depth": 1, "name": self._sentence()},
            "note": lambda: " ".join(self._sentence() for _ in range(6)),
            "url.full": lambda: f"https://example.com/orders/{draw.randrange(40)}?q=a%20b",
        }
        return about | {key: make() for key, make in optional.items() if draw.randrange(3) == 0}

    def _texts(self) -> dict[str, Any]:
        texts = {"input.value": self._sentence(), "output.value": " ".join(self._sentence() for _ in range(3))}
        if self.draw.randrange(60) == 0:
            texts["output.value"] += " " + "QUJD" * 1_500
        return {key: text for key, text in texts.items() if self.draw.randrange(8)}

    def _sentence(self) -> str:
        return " ".join(self.draw.choice(words) for words in (_SUBJECTS, _VERBS, _OBJECTS))

    def _drawn_resource(self) -> dict[str, Any]:
        draw = self.draw
        resource: dict[str, Any] = {"host.cores": draw.choice((2, 8))}
        if draw.randrange(8):
            resource["service.name"] = draw.choice(_SERVICES)
        if draw.randrange(3):
            resource["deployment.environment.name"] = draw.choice(_ENVIRONMENTS)
        if draw.randrange(3):
            resource["service.version"] = draw.choice(_RELEASES)
        return resource

    def _add(
        self, name: str, parent: str, attributes: dict[str, Any], milliseconds: int, error: str | None = None
    ) -> str:
        self.span_count += 1
        span: dict[str, Any] = {
            "traceId": trace_id(self._number),
            "spanId": f"{self.span_count:016x}",
            "parentSpanId": parent,
            "name": name,
            "startTimeUnixNano": str(self._now),
            "endTimeUnixNano": str(self._now + milliseconds * _MILLISECOND + self.draw.randrange(3) * 400),
            "attributes": _attributes(attributes),
        }
        if error is not None:
            span["status"] = {"code": 2, "message": error}
            attributes = {"exception.type": error.partition(":")[0], "exception.message": error}
            event = {"name": "exception", "timeUnixNano": str(self._now), "attributes": _attributes(attributes)}
            span["events"] = [event]
        self._spans.append(span)
        self._now += self.draw.choice((0, 1, 7, 40)) * _MILLISECOND
        return f"{self.span_count:016x}"


def _request(resource_spans: Iterable[dict[str, Any]]) -> bytes:
    return json.dumps({"resourceSpans": list(resource_spans)}).encode()


def _attributes(values: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"key": key, "value": _value(value)} for key, value in values.items()]


def _value(value: Any) -> dict[str, Any]:
    match value:
        case bool():
            return {"boolValue": value}
        case int():
            return {"intValue": str(value)}
        case float():
            return {"doubleValue": value}
        case list():
            return {"arrayValue": {"values": [_value(each) for each in value]}}
        case dict():
            return {"kvlistValue": {"values": _attributes(value)}}
        case _:
            return {"stringValue": value}
