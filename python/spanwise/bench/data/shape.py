"""The parameters of a data set: number and size of its traces, seed, and the names of agents and users."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

import msgspec

Documents = Literal["real", "small", "none"]

DAYS = 30
LATEST = datetime(2026, 11, 20, tzinfo=UTC)
"""The end of the `DAYS` that the traces cover. It is fixed, so that a seed always gives the same traces."""
MICROSECONDS_A_DAY = 86_400_000_000

TRACES_A_SESSION = 8
TRACES_A_USER = 50
ERROR_SHARE = 0.05

_TOPICS = ("Weather", "Invoice", "Refund", "Release", "Travel", "Payroll", "Support", "Market", "Recipe", "Café")
_ROLES = ("Scout", "Writer", "Planner", "Critic", "Clerk")
METHODS = ("run", "arun", "stream", "retry")
METHOD_WEIGHTS = (0.55, 0.3, 0.1, 0.05)
AGENTS = tuple(f"{topic}_{role}" for role in _ROLES for topic in _TOPICS)
"""50 agent names, the most frequent first; frequencies follow Zipf's law."""
AGENT_IDS = tuple(name.lower().replace("_", "-").replace("é", "e") for name in AGENTS)
TEAM_IDS = tuple(f"{topic.lower().replace('é', 'e')}-team" for topic in _TOPICS)
WORKFLOW_IDS = tuple(f"{topic.lower().replace('é', 'e')}-workflow" for topic in _TOPICS)
NAMES = tuple(f"{agent}.{method}" for agent in AGENTS for method in METHODS)
"""200 trace names; the name of agent `a` and method `m` has the index `a * len(METHODS) + m`."""

_FIRST = (
    "alice", "bob", "chidi", "dolores", "emre", "fatima", "goran", "hana", "ines", "jonas", "kenji", "lucia", "mateo",
    "nadia", "oskar", "priya", "quentin", "rosa", "sven", "tomasz", "ulla", "vera", "wei", "yusuf", "zoe",
)  # fmt: skip
_LAST = (
    "almeida", "bauer", "costa", "diaz", "eriksen", "fischer", "garcia", "haddad", "ivanov", "jansen", "kim",
    "laurent", "moreau", "nowak", "okafor", "petrov", "quispe", "rossi", "sato", "tanaka",
)  # fmt: skip


class Shape(msgspec.Struct, frozen=True):
    """The parameters of one data set.

    Attributes:
        traces: the number of traces.
        documents: `real`: up to 500 spans per trace, 6 in the median, of about 1 KB each; `small`: one short span per
            trace; `none`: rows without spans.
        seed: the seed of the random generator.
    """

    traces: int
    documents: Documents
    seed: int

    @property
    def folder(self) -> str:
        """Returns the name of the folder of this data set."""
        return f"bench-store-{self.traces}-{self.documents}-{self.seed}"

    @property
    def users(self) -> int:
        """Returns the number of users."""
        return max(1, self.traces // TRACES_A_USER)

    @property
    def deep_page(self) -> int:
        """Returns the number of the deep page: 5,000, or less below a million traces."""
        return min(5_000, max(2, self.traces // 200))


def user_id(number: int) -> str:
    """Returns the id of user `number`, counted from 0."""
    suffix, index = divmod(number, len(_FIRST) * len(_LAST))
    last, first = divmod(index, len(_FIRST))
    return f"{_FIRST[first]}.{_LAST[last]}{suffix or ''}@example.com"


def first_names() -> tuple[str, ...]:
    """Returns the first names, with which user ids start."""
    return _FIRST


def topics() -> tuple[str, ...]:
    """Returns the topics, with which trace names start."""
    return _TOPICS
