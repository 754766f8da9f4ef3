from __future__ import annotations

from typing import Any

import pytest

from spanwise import ConfigurationError, Service


@pytest.mark.parametrize(
    "asked",
    [
        {"agents": [object()]},
        {"teams": [object()]},
        {"workflows": [object()]},
        {"db": object()},
    ],
    ids=lambda asked: next(iter(asked)),
)
def test_what_is_not_built_yet_is_refused_by_name(asked: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError, match=f"`{next(iter(asked))}` is not built yet"):
        Service(**asked)


def test_empty_lists_ask_for_nothing() -> None:
    service = Service(agents=[], teams=[], workflows=[], name="Ours", id="ours")
    assert (service.name, service.id) == ("Ours", "ours")


def test_code_wins_over_the_command_line() -> None:
    service = Service(settings={"port": 1})
    service.configure({"port": "2", "host": "::1"}, None)
    assert (service.settings.port, service.settings.host) == (1, "::1")
