"""The listening sockets of the service: its own port and the default ports of OpenTelemetry exporters."""

from __future__ import annotations

import logging
import socket
import ssl
import sys
from typing import TYPE_CHECKING, NamedTuple

from spanwise.errors import ConfigurationError
from spanwise.http.http2.limits import BACKLOG
from spanwise.settings.otlp import GRPC_PORT, HTTP_PORT

if sys.platform != "win32":
    import resource

if TYPE_CHECKING:
    from spanwise.settings import Settings

RESERVED_FILES = 256
"""File descriptors reserved for the stores, the database and the program."""
MAX_OTLP_CONNECTIONS = 1024
OTLP_SHARE = 4
"""Each OTLP port accepts this number of connections, or this fraction of `max_connections` if that is less."""

_log = logging.getLogger(__name__)


class Listeners(NamedTuple):
    """The listening sockets. None means that the port is off."""

    main: socket.socket
    otlp_http: socket.socket | None
    otlp_grpc: socket.socket | None


def open_listeners(settings: Settings) -> Listeners:
    """Returns the sockets, bound and listening. Logs a warning if a default port is in use.

    Raises:
        ConfigurationError: a configured address is in use, or listening on it fails.
    """
    opened: list[socket.socket] = []
    try:
        opened.append(_listen(settings.host, settings.port, settings))
        otlp_http = _listen_for_otlp("otlp_http_port", settings.otlp_http_port, HTTP_PORT, settings)
        opened += [otlp_http] if otlp_http else []
        return Listeners(
            opened[0], otlp_http, _listen_for_otlp("otlp_grpc_port", settings.otlp_grpc_port, GRPC_PORT, settings)
        )
    except ConfigurationError:
        for listener in opened:
            listener.close()
        raise


def expect_free(settings: Settings) -> None:
    """Checks that the service can listen on its address.

    Raises:
        ConfigurationError: the address is in use, or listening on it fails.
    """
    _listen(settings.host, settings.port, settings).close()


def _listen_for_otlp(name: str, port: int | None, default: int, settings: Settings) -> socket.socket | None:
    if port == 0:
        return None
    try:
        return _listen(settings.host, default if port is None else port, settings)
    except ConfigurationError as error:
        if port is not None:
            raise ConfigurationError(f"setting `{name}`: {error}") from error
        _log.warning("%s; exporters that send there do not reach this service: `%s` sets another port", error, name)
        return None


def _listen(host: str, port: int, settings: Settings) -> socket.socket:
    """Returns the listening socket. Its connections inherit its options."""
    try:
        family, kind, protocol, _, resolved = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        listener = socket.socket(family, kind, protocol)
        try:
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if sys.platform == "linux":
                milliseconds = round(settings.write_deadline_seconds * 1000)
                listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
            listener.bind(resolved)
            listener.listen(BACKLOG)
        except OSError:
            listener.close()
            raise
    except OSError as error:
        raise ConfigurationError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    return listener


def allowed_connections(requested: int) -> int:
    """Returns the connection limit: the requested number, or less if the limit on open files is too low.

    Raises the soft limit on open files if necessary.
    """
    if sys.platform == "win32":  # Windows has no such limit
        return requested
    allowed, maximum = resource.getrlimit(resource.RLIMIT_NOFILE)
    needed = requested + 2 * allowed_otlp_connections(requested) + RESERVED_FILES
    if maximum != resource.RLIM_INFINITY and maximum < needed:
        _log.warning(
            "at most %d connections at once: the process may open no more than %d files", maximum // 2, maximum
        )
        requested = maximum // 2
    if allowed != resource.RLIM_INFINITY and allowed < needed:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(needed, maximum) if maximum > 0 else maximum, maximum))
    return requested


def allowed_otlp_connections(connections: int) -> int:
    """Returns the connection limit of each OTLP port, in addition to the limit of the service's own port."""
    return min(MAX_OTLP_CONNECTIONS, max(1, connections // OTLP_SHARE))


def certificate_of(settings: Settings) -> ssl.SSLContext | None:
    """Returns the TLS context of the gRPC port; None without a certificate.

    Raises:
        ConfigurationError: only one of the two files is set, or a file is unusable.
    """
    certificate, key = settings.otlp_grpc_certificate_file, settings.otlp_grpc_key_file
    if not certificate and not key:
        return None
    if not (certificate and key):
        raise ConfigurationError("expected both or none of `otlp_grpc_certificate_file` and `otlp_grpc_key_file`")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["h2"])
    try:
        context.load_cert_chain(certificate, key)
    except OSError as error:  # `ssl.SSLError` is an OSError too
        reason = error.reason if isinstance(error, ssl.SSLError) else error.strerror
        raise ConfigurationError(
            f"setting `otlp_grpc_certificate_file`: cannot use `{certificate}` with the key `{key}`: {reason}"
        ) from error
    return context
