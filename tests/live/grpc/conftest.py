from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from support.clients.tokens import jwks_file
from support.services.process import RunningService, free_port
from support.services.receiver import Receiver

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def receive(start: Callable[..., RunningService]) -> Callable[..., Receiver]:
    """Returns a function that starts services with a gRPC port."""

    def begin(*flags: str, **options: str) -> Receiver:
        port = free_port()
        return Receiver(start("--otlp-grpc-port", str(port), *flags, **options), port)

    return begin


@pytest.fixture(scope="module")
def open_one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """A service without authorization that the tests of this module share, with enough processor time for all."""
    folder, port = tmp_path_factory.mktemp("grpc"), free_port()
    flags = ("--otlp-grpc-port", str(port), "--unknown-processor-share", "1")
    with RunningService(folder / "data", *flags) as service:
        yield Receiver(service, port)
        assert service.stop() == 0
        assert all(event["level"] in {"info", "warning"} for event in service.events()), service.log.read_text()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """The same with authorization, and with enough processor time for the unknown callers of all tests."""
    folder, port = tmp_path_factory.mktemp("grpc"), free_port()
    flags = ("--authorization", "--otlp-grpc-port", str(port), "--unknown-processor-share", "1")
    with RunningService(folder / "data", *flags, JWT_JWKS_FILE=jwks_file(folder)) as service:
        yield Receiver(service, port)
        assert service.stop() == 0
