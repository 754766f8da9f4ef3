"""The contents of one trace, independent of its format: questions, tool calls, answers and failures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, NamedTuple

import msgspec

if TYPE_CHECKING:
    from random import Random

    from spanwise.demo.cast import DemoAgent, DemoTool, Domain, Template

MODELS = ("gpt-4o-mini", "gpt-4o", "gpt-4.1", "claude-sonnet-4-5", "mistral-large-2411", "gemini-2.5-flash")
_MODEL_WEIGHTS = (34, 20, 14, 16, 7, 9)
_USES = (0, 1, 2, 3, 4, 5, 6)
_USE_WEIGHTS = (12, 30, 26, 16, 9, 4, 3)
_BROKEN_TOOL_SHARE = 0.6
_MODEL_FAILURES = (
    ("RateLimitError", "Rate limit reached for {model}: limit 30000 tokens a minute, used {number}"),
    ("APITimeoutError", "request to {model} timed out after 60 s"),
    ("InternalServerError", "Error code: 503 - {model} is overloaded, try again later"),
    ("BadRequestError", "maximum context length of {model} is 128000 tokens, the messages have {number}"),
    ("APIConnectionError", "connection to the provider of {model} was reset"),
)

Words = dict[str, object]
"""The values of the template slots in one trace."""


class TraceIdentity(NamedTuple):
    """The session and the user of a trace."""

    session_id: str | None
    user_id: str | None


class Failure(NamedTuple):
    """An exception: its type and its message."""

    type: str
    message: str


class ToolUse(NamedTuple):
    """A tool call; `arguments` and `result` are JSON."""

    tool: DemoTool
    call_id: str
    arguments: str
    result: str
    failure: Failure | None


class DemoRun(NamedTuple):
    """A run of an agent. If it has a `failure`, its last model call failed and there is no answer."""

    domain: Domain
    agent: DemoAgent
    instruction: str
    model: str
    question: str
    uses: tuple[ToolUse, ...]
    answer: str
    failure: Failure | None

    @property
    def outcome(self) -> str:
        """Returns the answer, or the error message of the failure."""
        return self.failure.message if self.failure else self.answer


def draw_words(rng: Random, domain: Domain, moment: datetime) -> Words:
    """Draws a value for each slot of a trace that starts at `moment`."""
    words: Words = {slot: rng.choice(choices) for slot, choices in domain.words.items()}
    words["count"] = rng.randint(2, 40)
    words["number"] = rng.randint(1_000, 99_999)
    words["amount"] = round(rng.lognormvariate(4.8, 1.1), 2)
    words["percent"] = round(rng.uniform(0.1, 99.9), 1)
    words["reference"] = f"{rng.choice('ABCDEFGHKLMNPRSTUVWX')}{rng.randint(1, 9)}-{rng.randint(10_000, 99_999)}"
    words["day"] = f"{moment.astimezone(UTC) + timedelta(days=rng.randint(-20, 60)):%Y-%m-%d}"
    return words


def fill(template: Template, words: Words) -> Template:
    """Returns `template` with its slots filled. A template that is a single slot keeps the type of its value."""
    if isinstance(template, list):
        return [str(fill(part, words)) for part in template]
    if not isinstance(template, str) or "{" not in template:
        return template
    alone = words.get(template[1:-1]) if template.count("{") == 1 else None
    return alone if isinstance(alone, (int, float)) else template.format_map(words)


def _fill_json(templates: dict[str, Template], words: Words) -> str:
    return msgspec.json.encode({name: fill(template, words) for name, template in templates.items()}).decode()


def use_tool(rng: Random, tool: DemoTool, words: Words, *, failing: bool) -> ToolUse:
    """Returns a call of `tool`. The result of a failing call is its error message."""
    failure = None
    if failing:
        kind, message = rng.choice(tool.failures)
        failure = Failure(kind, message.format_map(words))
    result = failure.message if failure else _fill_json(tool.result, words)
    return ToolUse(tool, f"call_{rng.getrandbits(48):012x}", _fill_json(tool.arguments, words), result, failure)


def fail_model(rng: Random, model: str, words: Words) -> Failure:
    """Draws a failure of a call to `model`."""
    kind, message = rng.choice(_MODEL_FAILURES)
    return Failure(kind, message.format_map({**words, "model": model}))


class Scene:
    """The contents of one trace in a domain: one topic, one set of words, at most one failure."""

    def __init__(self, rng: Random, domain: Domain, moment: datetime, *, failing: bool) -> None:
        """Draws the words and the topic of a trace that starts at `moment`."""
        self.rng = rng
        self.domain = domain
        self.words = draw_words(rng, domain, moment)
        question, answer = rng.choice(domain.turns)
        self.question = question.format_map(self.words)
        self.answer = answer.format_map(self.words)
        self._failing = failing

    def run(self, agent: DemoAgent, question: str = "", *, max_uses: int = 6) -> DemoRun:
        """Draws a run of `agent` for `question`, by default the scene's. In a failing scene, the first run fails."""
        rng = self.rng
        tools = self.domain.tools_of(agent)
        model = rng.choices(MODELS, _MODEL_WEIGHTS)[0]
        count = min(rng.choices(_USES, _USE_WEIGHTS)[0], max_uses) if tools else 0
        failing, self._failing = self._failing, False
        broken_use = rng.randrange(count) if failing and count and rng.random() < _BROKEN_TOOL_SHARE else -1
        chosen = [rng.choice(tools) for _ in range(count)]
        uses = [use_tool(rng, tool, self.words, failing=index == broken_use) for index, tool in enumerate(chosen)]
        failure = fail_model(rng, model, self.words) if failing and broken_use < 0 else None
        answer = self.domain.apology.format_map(self.words) if broken_use >= 0 else self.answer
        instruction = rng.choice(self.domain.instructions)
        return DemoRun(self.domain, agent, instruction, model, question or self.question, tuple(uses), answer, failure)


def count_tokens(text: str) -> int:
    """Returns the approximate number of tokens in `text`."""
    return max(1, len(text) // 4)
