from __future__ import annotations

from typing import Any

import pytest

from spanwise import ConfigurationError, Service
from spanwise.components import Agent


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"agents": [object()]}, "objects of other frameworks need an adapter"),
        ({"teams": [object()]}, "objects of other frameworks need an adapter"),
        ({"workflows": [object()]}, "objects of other frameworks need an adapter"),
        ({"agents": [Agent(str.upper, id="a"), Agent(str.upper, id="a")]}, "two agents have the id `a`"),
        ({"agents": [Agent(str.upper)]}, "every agent needs an id"),
        ({"db": object()}, "expected the path of a SQLite file, a postgresql:// address or a `Database`"),
        ({"db": "mysql://host/name"}, "or a `Database` as db, got `mysql://...`"),
        ({"db": "postgresql://host:hidden/name"}, "the address of the database cannot be read"),
    ],
    ids=range(8),
)
def test_an_object_that_cannot_be_hosted_is_rejected(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ConfigurationError, match=words):
        Service(**arguments)


def test_empty_lists_host_nothing() -> None:
    service = Service(agents=[], teams=[], workflows=[], name="Ours", id="ours")
    assert (service.name, service.id) == ("Ours", "ours")


def test_code_wins_over_the_command_line() -> None:
    service = Service(settings={"port": 1})
    service.configure({"port": "2", "host": "::1"}, None)
    assert (service.settings.port, service.settings.host) == (1, "::1")
