"""A service that serves gRPC."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.clients.grpc import GrpcClient

if TYPE_CHECKING:
    from support.services.process import RunningService


class Receiver:
    """A service that serves gRPC.

    Attributes:
        service: the service.
        port: its gRPC port.
    """

    def __init__(self, service: RunningService, port: int) -> None:
        self.service = service
        self.port = port

    def connect(self) -> GrpcClient:
        """Returns a new connection."""
        return GrpcClient(self.port)
