from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest
from support.agno_service import adapting
from support.callers import jwks_file
from support.hosted_service import hosting
from support.object_servers import BUCKET, S3, Server
from support.service import Running

from spanwise.components.adapters import LOGGERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.proxy import Proxy


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service that tests share; each looks only for what it sent. Nothing they send is an error of the service."""
    with Running(tmp_path_factory.mktemp("shared") / "data") as running:
        yield running
        assert running.stop() == 0
        assert all(event["level"] in {"info", "warning"} for event in running.events()), running.log.read_text()


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of components, which the tests of a module share."""
    with hosting(tmp_path_factory.mktemp("hosted")) as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """The same for callers with tokens."""
    folder = tmp_path_factory.mktemp("guarded")
    with hosting(folder, "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """A service of objects of other frameworks, which tests share: importing them takes seconds."""
    with adapting(tmp_path_factory.mktemp("adapted")) as running:
        running.wait_until_ready()
        yield running
        assert running.stop() == 0
        assert {event["logger"].partition(".")[0] for event in running.events()} <= {"spanwise", *LOGGERS}


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts services over one data folder; all have ended when the test has."""
    with ExitStack() as services:
        yield lambda *flags, **options: services.enter_context(Running(tmp_path / "data", *flags, **options))


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server with a bucket, which tests share; `parametrize` it to have another than S3."""
    kind: type[S3] = getattr(request, "param", S3)
    with kind(tmp_path_factory.mktemp(kind.scheme) / "server.log") as running:
        yield running


@pytest.fixture
def reach(server: Server, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Lets what is opened next reach the server; `reach(proxy)` by way of a proxy."""

    def by(proxy: Proxy | None = None) -> None:
        for name, value in server.environment(None if proxy is None else proxy.server_port).items():
            monkeypatch.setenv(name, value)

    by()
    return by


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> str:
    """The folder of one test within the bucket."""
    name: str = request.node.name
    return name


@pytest.fixture
def url(server: Server, folder: str) -> str:
    """The address of that folder."""
    return f"{server.scheme}://{BUCKET}/{folder}"
