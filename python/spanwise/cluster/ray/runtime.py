"""Starts Ray for this process, or connects to a running one, and ends it with its last user."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spanwise.cluster.ray.local_folder import LocalFolder
from spanwise.errors import ConfigurationError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL = "local"
"""The address of a Ray that is started for this process."""
NAMESPACE = "spanwise"
"""The Ray namespace of the shard processes."""
_OBJECT_STORE_BYTES = 256 * 1024 * 1024
_ENVIRONMENT = {
    # No usage data is sent, and Ray does not start implicitly.
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    # Smaller values travel with the call or its reply. Larger ones go through shared memory, because a message would
    # cost more processor time.
    "RAY_max_direct_call_object_size": str(640 * 1024),
    # Otherwise Ray aborts the process three seconds after SIGTERM, even if another handler is installed.
    "RAY_DISABLE_FAILURE_SIGNAL_HANDLER": "1",
    # Shards have the same priority as their callers. Ray would give them the lowest priority.
    "RAY_worker_niceness": "0",
    # Budgets limit the memory of a shard. Ray would kill the largest process.
    "RAY_memory_monitor_refresh_ms": "0",
    # The log already has the messages about ended processes that Ray would print to standard output.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    # The result of a notice, such as the end of a search, is never awaited.
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
}
_LOCAL_ENVIRONMENT = {
    # Without its head, which is never restarted, this Ray ends after this many seconds, including this process.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "10",
    # All ports are on the loopback interface.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
_REMOTE_ENVIRONMENT = {
    # The head comes back, so its absence must not end any process.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",
    # Roughly the seconds spent looking for the head at its address.
    "RAY_NUM_REDIS_GET_RETRIES": "5",
}
_CONNECT_SECONDS = 5.0


class Runtime:
    """Ray in this process, which has at most one."""

    def __init__(self) -> None:
        """Creates a runtime that is not started."""
        self._lock = threading.Lock()
        self._users = 0
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def acquire(self, address: str, workers: int) -> None:
        """Starts Ray or connects to it, unless that was done. Call `release` afterwards.

        Args:
            address: `local`, or the address of a Ray cluster; `auto` for one on this machine.
            workers: the number of processes that a local Ray keeps ready.

        Raises:
            ConfigurationError: Ray is not installed.
            StoreError: Ray does not start, or does not answer at the address.
        """
        with self._lock:
            if self._users == 0 and not _import_ray(address).is_initialized():
                self._start(address, workers)
            self._users += 1

    def release(self) -> None:
        """Ends Ray after its last user, if it was started here."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._stop is not None and self._thread is not None:
                self._stop.set()
                self._thread.join()
                self._stop = self._thread = None

    @contextmanager
    def used(self, address: str) -> Iterator[None]:
        """Connects this process to the Ray cluster at an address for the duration of the block.

        Raises:
            ConfigurationError: see `acquire`.
            StoreError: see `acquire`.
        """
        self.acquire(address, 0)
        try:
            yield
        finally:
            self.release()

    def _start(self, address: str, workers: int) -> None:
        _expect_listener(address)
        started: Future[None] = Future()
        self._stop = threading.Event()
        # The kernel ends the children of a thread when the thread ends. This thread ends last, however the process
        # ends.
        self._thread = threading.Thread(
            target=_run, args=(address, workers, started, self._stop), name="spanwise-ray", daemon=True
        )
        self._thread.start()
        try:
            started.result()
        except Exception as error:  # Ray raises errors of any type during its start
            self._stop = self._thread = None
            reason = str(error).strip().partition("\n")[0]
            raise StoreError(f"Ray cannot be used, `cluster` is `{address}`: {reason}") from error


def _expect_listener(address: str) -> None:
    """Checks that a process listens at the address of a cluster. Otherwise Ray would retry for minutes.

    Raises:
        StoreError: no process listens there.
    """
    host, _, port = address.rpartition(":")
    if not port.isdigit() or "/" in host:
        return
    try:
        socket.create_connection((host, int(port)), _CONNECT_SECONDS).close()
    except (OSError, OverflowError) as error:
        raise StoreError(f"there is no Ray cluster at `{address}`: {error}") from error


RUNTIME = Runtime()


def _import_ray(address: str) -> Any:  # noqa: ANN401  # a module that may be missing
    """Returns Ray, which reads its environment during the import."""
    environment = _ENVIRONMENT | (_LOCAL_ENVIRONMENT if address == LOCAL else _REMOTE_ENVIRONMENT)
    if address == LOCAL and "RAY_AUTH_TOKEN_PATH" not in os.environ:
        environment["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    for name, value in environment.items():
        os.environ.setdefault(name, value)
    try:
        import ray  # noqa: PLC0415  # an extra
    except ImportError as error:
        raise ConfigurationError(
            f"`cluster` is `{address}`, which needs the extra: pip install 'spanwise[cluster]'"
        ) from error
    # Its warnings concern its own threads and files.
    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


def _run(address: str, workers: int, started: Future[None], stop: threading.Event) -> None:
    """Runs Ray for the lifetime of this thread."""
    ray = _import_ray(address)
    folder = None
    try:
        try:
            if address != LOCAL:
                ray.init(address=address, namespace=NAMESPACE, log_to_driver=False, configure_logging=False)
            else:
                folder = LocalFolder()
                ray.init(
                    address=LOCAL,
                    num_cpus=workers,
                    object_store_memory=_OBJECT_STORE_BYTES,
                    include_dashboard=False,
                    log_to_driver=False,
                    configure_logging=False,
                    _temp_dir=str(folder.for_ray),
                )
        except Exception as error:  # noqa: BLE001  # the waiting thread raises it
            started.set_exception(error)
            return
        started.set_result(None)
        stop.wait()
        ray.shutdown()
    finally:
        if folder is not None:
            folder.remove()
