from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

import pytest

from spanwise.components.adapting import LOGGERS
from support.clients.tokens import jwks_file
from support.servers.buckets import BUCKET, S3, BucketServer
from support.services.adapted import start_adapted, start_keeping
from support.services.hosted import start_hosted
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from support.servers.proxy import Proxy


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service that tests share. Each test reads only its own data, and none may make the service log an error."""
    with RunningService(tmp_path_factory.mktemp("shared") / "data") as running:
        yield running
        assert running.stop() == 0
        assert all(event["level"] in {"info", "warning"} for event in running.events()), running.log.read_text()


@pytest.fixture(scope="module")
def hosted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service of components that the tests of a module share."""
    with start_hosted(tmp_path_factory.mktemp("hosted")) as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """The same with authorization."""
    folder = tmp_path_factory.mktemp("guarded")
    with start_hosted(folder, "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def adapted(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with objects of other frameworks. All tests share it because their imports take seconds."""
    with start_adapted(tmp_path_factory.mktemp("adapted")) as running:
        running.wait_until_ready()
        yield running
        assert running.stop() == 0
        assert {event["logger"].partition(".")[0] for event in running.events()} <= {"spanwise", *LOGGERS}


@pytest.fixture(scope="session")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service of agno's objects with databases of their own."""
    with start_keeping(tmp_path_factory.mktemp("keeping")) as running:
        running.wait_until_ready()
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def guarded_keeping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """The same with authorization."""
    folder = tmp_path_factory.mktemp("guarded-keeping")
    with start_keeping(folder, "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as running:
        running.wait_until_ready()
        yield running
        assert running.stop() == 0


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RunningService]]:
    """Returns a function that starts services over one data folder. They are killed after the test."""
    with ExitStack() as services:
        yield lambda *flags, **options: services.enter_context(RunningService(tmp_path / "data", *flags, **options))


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[BucketServer]:
    """A server with a bucket that tests share: S3, or the server that parametrizes the test."""
    kind: type[S3] = getattr(request, "param", S3)
    with kind(tmp_path_factory.mktemp(kind.scheme) / "server.log") as running:
        yield running


@pytest.fixture
def reach(server: BucketServer, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Sets the environment of the server for stores; `reach(proxy)` goes through a proxy."""

    def by(proxy: Proxy | None = None) -> None:
        for name, value in server.environment(None if proxy is None else proxy.server_port).items():
            monkeypatch.setenv(name, value)

    by()
    return by


@pytest.fixture
def folder(request: pytest.FixtureRequest) -> str:
    """The folder of the test within the bucket."""
    name: str = request.node.name
    return name


@pytest.fixture
def url(server: BucketServer, folder: str) -> str:
    """The address of that folder."""
    return f"{server.scheme}://{BUCKET}/{folder}"
