"""The schedule of the generated traces: users, sessions, start times and components."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import TYPE_CHECKING, Literal, NamedTuple

from spanwise.demo.cast import domains
from spanwise.demo.scene import TraceIdentity

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanwise.demo.cast import DemoAgent, DemoTeam, DemoWorkflow, Domain

Kind = Literal["agent", "team", "workflow", "pydantic", "planner", "function", "request"]

_KIND_WEIGHTS: dict[Kind, int] = {
    "agent": 36, "team": 9, "workflow": 11, "pydantic": 18, "planner": 7, "function": 10, "request": 9,
}  # fmt: skip
_SPAN_DAYS = 30
_TRACES_A_SESSION = 8
_TRACES_A_USER = 50
_SECONDS_BETWEEN = 200
_ERROR_SHARE = 0.05
_ANONYMOUS_SHARE = 0.04
_ASYNCHRONOUS_SHARE = 0.4
_SIDE_SHARE = 0.15
"""The share of traces that run something other than the main component of their session."""
_WORKING_HOURS = range(7, 18)
_WAKING_HOURS = range(5, 22)
_WEEKEND = (6, 7)
_FIRST = (
    "alice", "bob", "chidi", "dolores", "emre", "fatima", "goran", "hana", "ines", "jonas", "kenji", "lucia",
    "mateo", "nadia", "oskar", "priya", "quentin", "rosa", "sven", "tomasz", "ulla", "vera", "wei", "yusuf", "zoe",
)  # fmt: skip
_LAST = (
    "almeida", "bauer", "costa", "diaz", "eriksen", "fischer", "garcia", "haddad", "ivanov", "jansen", "kim",
    "laurent", "moreau", "nowak", "okafor", "petrov", "quispe", "rossi", "sato", "tanaka", "urban", "virtanen",
)  # fmt: skip


class CatalogEntry(NamedTuple):
    """A callable entry of the demo: an agent, a team, a workflow, or a function by name."""

    kind: Kind
    domain: Domain
    subject: DemoAgent | DemoTeam | DemoWorkflow | str


class ScheduledTrace(NamedTuple):
    """A trace to generate.

    Attributes:
        start: its start time.
        entry: the component or function that it runs.
        identity: its session and user.
        method: the agno method: `run`, or `arun` in asynchronous code.
        failing: whether a part of it fails.
        seed: the seed of all its other contents.
    """

    start: datetime
    entry: CatalogEntry
    identity: TraceIdentity
    method: str
    failing: bool
    seed: int


def _entries(domain: Domain) -> list[CatalogEntry]:
    agno = [agent for agent in domain.agents if agent.framework == "agno"]
    pydantic = [agent for agent in domain.agents if agent.framework == "pydantic-ai"]
    subjects: dict[Kind, Sequence[DemoAgent | DemoTeam | DemoWorkflow | str]] = {
        "agent": agno,
        "team": domain.teams,
        "workflow": domain.workflows,
        "pydantic": pydantic,
        "planner": domain.planners,
        "function": domain.functions,
        "request": agno,
    }
    return [CatalogEntry(kind, domain, subject) for kind, found in subjects.items() for subject in found]


def _weighted_entries(rng: Random) -> tuple[list[CatalogEntry], list[float]]:
    """Returns all entries with their weights: a share per kind, divided within a kind by Zipf's law."""
    entries = [entry for domain in domains() for entry in _entries(domain)]
    rng.shuffle(entries)
    ranks: list[int] = []
    counts = dict.fromkeys(_KIND_WEIGHTS, 0)
    for entry in entries:
        counts[entry.kind] += 1
        ranks.append(counts[entry.kind])
    harmonic = {kind: sum(1 / rank for rank in range(1, count + 1)) for kind, count in counts.items()}
    weights = [
        _KIND_WEIGHTS[entry.kind] / rank / harmonic[entry.kind] for entry, rank in zip(entries, ranks, strict=True)
    ]
    return entries, weights


def _users(count: int) -> list[str]:
    names = []
    for number in range(count):
        suffix, index = divmod(number, len(_FIRST) * len(_LAST))
        last, first = divmod(index, len(_FIRST))
        names.append(f"{_FIRST[first]}.{_LAST[(last + first) % len(_LAST)]}{suffix or ''}@example.com")
    return names


def _moment(rng: Random, earliest: datetime, latest: datetime) -> datetime:
    """Draws a time between both. Working hours on weekdays are the most likely."""
    while True:
        moment = earliest + rng.random() * (latest - earliest)
        busy = 1.0 if moment.hour in _WORKING_HOURS else 0.35 if moment.hour in _WAKING_HOURS else 0.12
        if rng.random() < busy * (0.4 if moment.isoweekday() in _WEEKEND else 1.0):
            return moment


def _session_sizes(rng: Random, traces: int) -> list[int]:
    """Returns the number of traces of each session: at least one each, `traces` in total."""
    sizes = [1] * max(1, traces // _TRACES_A_SESSION)
    if traces < len(sizes):
        return []
    weights = [rng.lognormvariate(0.0, 0.9) for _ in sizes]
    for index in rng.choices(range(len(sizes)), weights, k=traces - len(sizes)):
        sizes[index] += 1
    return sizes


def schedule(traces: int, seed: int, now: datetime) -> list[ScheduledTrace]:
    """Returns `traces` traces of the 30 days before `now`, ordered by start time."""
    rng = Random(seed)  # noqa: S311  # reproducible, not for security
    now = now.astimezone(UTC)
    entries, weights = _weighted_entries(rng)
    users = _users(max(1, traces // _TRACES_A_USER))
    popularity = [1 / (rank + 10) for rank in range(len(users))]
    scheduled = []
    for number, size in enumerate(_session_sizes(rng, traces)):
        user = rng.choices(users, popularity)[0] if rng.random() > _ANONYMOUS_SHARE else None
        identity = TraceIdentity(f"sess-{number:06d}-{rng.getrandbits(32):08x}", user)
        method = "arun" if rng.random() < _ASYNCHRONOUS_SHARE else "run"
        usual, other = rng.choices(entries, weights, k=2)
        gaps = [timedelta(seconds=rng.expovariate(1 / _SECONDS_BETWEEN)) for _ in range(size)]
        start = _moment(rng, now - timedelta(days=_SPAN_DAYS), now - timedelta(hours=1) - sum(gaps, timedelta()))
        for gap in gaps:
            start += gap
            entry = other if rng.random() < _SIDE_SHARE else usual
            failing = rng.random() < _ERROR_SHARE
            scheduled.append(ScheduledTrace(start, entry, identity, method, failing, rng.getrandbits(64)))
    scheduled.sort(key=lambda trace: (trace.start, trace.seed))
    return scheduled
