from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.servers import postgresql

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[postgresql.PostgresqlServer]:
    """A server that tests share; each creates a database of its own."""
    with postgresql.running() as server:
        yield server
