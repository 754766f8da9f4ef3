"""gRPC over TLS, with the certificate of the settings."""

from __future__ import annotations

import ssl
from typing import TYPE_CHECKING

import pytest

from support.certificates import write_certificate
from support.clients.grpc import OK, GrpcClient, export_message
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.services.receiver import Receiver


def test_a_client_that_trusts_the_certificate_is_served(tmp_path: Path, receive: Callable[..., Receiver]) -> None:
    certificate, key = write_certificate(tmp_path)
    receiver = receive("--otlp-grpc-certificate-file", certificate, "--otlp-grpc-key-file", key)
    context = ssl.create_default_context(cafile=certificate)
    context.set_alpn_protocols(["h2"])
    with GrpcClient(receiver.port, context) as client:
        assert client.socket.selected_alpn_protocol() == "h2"  # type: ignore[attr-defined]  # a TLS socket
        assert client.call(export_message("a" * 32, "b" * 16, text="x" * 100_000)).code == OK
    with pytest.raises(ssl.SSLCertVerificationError):
        GrpcClient(receiver.port, ssl.create_default_context())
    with GrpcClient(receiver.port) as plain:
        plain.wait_until_closed()
    assert receiver.service.trace_ids() == ["a" * 32]
    assert receiver.service.stop() == 0


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (("certificate",), "expected both or none of `otlp_grpc_certificate_file` and `otlp_grpc_key_file`"),
        (("key",), "expected both or none of `otlp_grpc_certificate_file` and `otlp_grpc_key_file`"),
        (("certificate", "absent"), "No such file or directory"),
        (("key", "key"), "cannot use"),
    ],
)
def test_a_certificate_that_cannot_be_used_is_rejected(tmp_path: Path, files: tuple[str, ...], message: str) -> None:
    certificate, key = write_certificate(tmp_path)
    paths = {"certificate": certificate, "key": key, "absent": str(tmp_path / "absent.pem")}
    names = ("--otlp-grpc-certificate-file", "--otlp-grpc-key-file") if files != ("key",) else ("--otlp-grpc-key-file",)
    flags = [part for name, file in zip(names, files, strict=False) for part in (name, paths[file])]
    with RunningService(tmp_path / "data", *flags, is_ready=False) as service:
        assert service.process.wait(15) == 1
        assert message in service.log.read_text()
