"""Who asks for what, and when: users, their sessions, and the moments of their traces."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random
from typing import Literal, NamedTuple

from .agno import Identity
from .cast import Agent, Domain, Team, Workflow, domains

Kind = Literal["agent", "team", "workflow", "pydantic", "planner", "function", "request"]

_KIND_WEIGHTS: dict[Kind, int] = {
    "agent": 36, "team": 9, "workflow": 11, "pydantic": 18, "planner": 7, "function": 10, "request": 9,
}  # fmt: skip
_SPAN_DAYS = 30
_TRACES_A_SESSION = 8
_TRACES_A_USER = 50
_ERROR_SHARE = 0.05
_FIRST = (
    "alice", "bob", "chidi", "dolores", "emre", "fatima", "goran", "hana", "ines", "jonas", "kenji", "lucia",
    "mateo", "nadia", "oskar", "priya", "quentin", "rosa", "sven", "tomasz", "ulla", "vera", "wei", "yusuf", "zoe",
)  # fmt: skip
_LAST = (
    "almeida", "bauer", "costa", "diaz", "eriksen", "fischer", "garcia", "haddad", "ivanov", "jansen", "kim",
    "laurent", "moreau", "nowak", "okafor", "petrov", "quispe", "rossi", "sato", "tanaka", "urban", "virtanen",
)  # fmt: skip


class Entry(NamedTuple):
    """What a user can call: an agent, a team, a workflow, or a function by its name."""

    kind: Kind
    domain: Domain
    subject: Agent | Team | Workflow | str


class Appointment(NamedTuple):
    """One trace to be: when it starts, what runs for whom, whether it fails, and the seed of the rest."""

    start: datetime
    entry: Entry
    identity: Identity
    failing: bool
    seed: int


def _entries(domain: Domain) -> list[Entry]:
    agents = {"agno": ("agent", "request"), "pydantic-ai": ("pydantic",), "genai-util": ()}
    found = [Entry(kind, domain, agent) for agent in domain.agents for kind in agents[agent.framework]]  # type: ignore[arg-type]
    found += [Entry("team", domain, team) for team in domain.teams]
    found += [Entry("workflow", domain, workflow) for workflow in domain.workflows]
    found += [Entry("planner", domain, planner) for planner in domain.planners]
    found += [Entry("function", domain, function) for function in domain.functions]
    return found


def _weighted_entries(rng: Random) -> tuple[list[Entry], list[float]]:
    """Returns every entry with its weight: a share for its kind, and within the kind by Zipf's law."""
    entries = [entry for domain in domains() for entry in _entries(domain)]
    rng.shuffle(entries)
    rank = dict.fromkeys(_KIND_WEIGHTS, 0)
    weights = []
    for entry in entries:
        rank[entry.kind] += 1
        weights.append(1 / rank[entry.kind])
    totals = dict.fromkeys(_KIND_WEIGHTS, 0.0)
    for entry, weight in zip(entries, weights, strict=True):
        totals[entry.kind] += weight
    return entries, [
        _KIND_WEIGHTS[entry.kind] * weight / totals[entry.kind] for entry, weight in zip(entries, weights, strict=True)
    ]


def _users(count: int) -> list[str]:
    names = []
    for number in range(count):
        turn, place = divmod(number, len(_FIRST) * len(_LAST))
        last, first = divmod(place, len(_FIRST))
        names.append(f"{_FIRST[first]}.{_LAST[(last + first) % len(_LAST)]}{turn or ''}@example.com")
    return names


def _moment(rng: Random, earliest: datetime, latest: datetime) -> datetime:
    """Returns a moment between both; working hours of weekdays are the likeliest."""
    while True:
        moment = earliest + rng.random() * (latest - earliest)
        busy = 1.0 if 7 <= moment.hour < 18 else 0.35 if 5 <= moment.hour < 22 else 0.12
        if rng.random() < busy * (0.4 if moment.isoweekday() > 5 else 1.0):
            return moment


def _session_sizes(rng: Random, traces: int) -> list[int]:
    """Returns how many traces each session has: one at least, `traces` together."""
    sizes = [1] * max(1, traces // _TRACES_A_SESSION)
    if traces < len(sizes):
        return []
    weights = [rng.lognormvariate(0.0, 0.9) for _ in sizes]
    for place in rng.choices(range(len(sizes)), weights, k=traces - len(sizes)):
        sizes[place] += 1
    return sizes


def timetable(traces: int, seed: int, now: datetime) -> list[Appointment]:
    """Returns `traces` appointments of the 30 days before `now`, in order of their start."""
    rng = Random(seed)
    now = now.astimezone(UTC)
    entries, weights = _weighted_entries(rng)
    users = _users(max(1, traces // _TRACES_A_USER))
    popularity = [1 / (rank + 10) for rank in range(len(users))]
    appointments = []
    for number, size in enumerate(_session_sizes(rng, traces)):
        user = rng.choices(users, popularity)[0] if rng.random() > 0.04 else None
        method = "arun" if rng.random() < 0.4 else "run"
        identity = Identity(f"sess-{number:06d}-{rng.getrandbits(32):08x}", user, method)
        usual, other = rng.choices(entries, weights, k=2)
        gaps = [timedelta(seconds=rng.expovariate(1 / 200)) for _ in range(size)]
        start = _moment(rng, now - timedelta(days=_SPAN_DAYS), now - timedelta(hours=1) - sum(gaps, timedelta()))
        for gap in gaps:
            start += gap
            entry = usual if rng.random() < 0.85 else other
            failing = rng.random() < _ERROR_SHARE
            appointments.append(Appointment(start, entry, identity, failing, rng.getrandbits(64)))
    appointments.sort(key=lambda appointment: (appointment.start, appointment.seed))
    return appointments
