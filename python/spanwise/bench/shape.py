"""Which data is measured: how many traces, of which size, of which seed, and who acts in them."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec

Documents = Literal["real", "small", "none"]

DAYS = 30
LATEST = datetime(2026, 11, 20, tzinfo=UTC)
"""The traces are those of the `DAYS` before this moment. It is fixed, so that a seed means the same traces for ever."""
MICROSECONDS_A_DAY = 86_400_000_000

TRACES_A_SESSION = 8
TRACES_A_USER = 50
ERROR_SHARE = 0.05

_TOPICS = ("Weather", "Invoice", "Refund", "Release", "Travel", "Payroll", "Support", "Market", "Recipe", "Café")
_ROLES = ("Scout", "Writer", "Planner", "Critic", "Clerk")
METHODS = ("run", "arun", "stream", "retry")
METHOD_WEIGHTS = (0.55, 0.3, 0.1, 0.05)
AGENTS = tuple(f"{topic}_{role}" for role in _ROLES for topic in _TOPICS)
"""50 names of agents, the busiest first: their weights are those of Zipf's law."""
AGENT_IDS = tuple(name.lower().replace("_", "-").replace("é", "e") for name in AGENTS)
TEAM_IDS = tuple(f"{topic.lower().replace('é', 'e')}-team" for topic in _TOPICS)
WORKFLOW_IDS = tuple(f"{topic.lower().replace('é', 'e')}-workflow" for topic in _TOPICS)
NAMES = tuple(f"{agent}.{method}" for agent in AGENTS for method in METHODS)
"""200 names of traces; that of agent `a` and method `m` stands at `a * len(METHODS) + m`."""

_FIRST = (
    "alice", "bob", "chidi", "dolores", "emre", "fatima", "goran", "hana", "ines", "jonas", "kenji", "lucia", "mateo",
    "nadia", "oskar", "priya", "quentin", "rosa", "sven", "tomasz", "ulla", "vera", "wei", "yusuf", "zoe",
)  # fmt: skip
_LAST = (
    "almeida", "bauer", "costa", "diaz", "eriksen", "fischer", "garcia", "haddad", "ivanov", "jansen", "kim",
    "laurent", "moreau", "nowak", "okafor", "petrov", "quispe", "rossi", "sato", "tanaka",
)  # fmt: skip


class Shape(msgspec.Struct, frozen=True):
    """One data set.

    Attributes:
        traces: how many.
        documents: `real`: a median of 6 and up to 500 spans a trace, about 1 KB each; `small`: one short span a trace;
            `none`: rows alone, without spans.
        seed: the same seed gives the same traces.
    """

    traces: int
    documents: Documents
    seed: int

    @property
    def folder(self) -> str:
        """Returns the name of the folder of its store."""
        return f"bench-store-{self.traces}-{self.documents}-{self.seed}"

    @property
    def users(self) -> int:
        """Returns how many users there are."""
        return max(1, self.traces // TRACES_A_USER)

    @property
    def deep_page(self) -> int:
        """Returns which page counts as a deep one: 5,000, and fewer where there are fewer than a million traces."""
        return min(5_000, max(2, self.traces // 200))


def user_id(number: int) -> str:
    """Returns the id of the user of that number, counted from 0."""
    turn, place = divmod(number, len(_FIRST) * len(_LAST))
    last, first = divmod(place, len(_FIRST))
    return f"{_FIRST[first]}.{_LAST[last]}{turn or ''}@example.com"


def first_names() -> tuple[str, ...]:
    """Returns what user ids begin with."""
    return _FIRST


def topics() -> tuple[str, ...]:
    """Returns what names of traces begin with."""
    return _TOPICS
