"""Starts Ray for this process, or connects to one that runs, and ends it with its last user."""

from __future__ import annotations

import logging
import os
import secrets
import socket
import threading
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from spanwise.errors import ConfigurationError, StoreError
from spanwise.traces.shards.cluster.local_folder import LocalFolder

if TYPE_CHECKING:
    from collections.abc import Iterator

LOCAL = "local"
"""The address of a Ray that is started for this process."""
NAMESPACE = "spanwise"
"""In which the processes of shards have their names."""
_OBJECT_STORE_BYTES = 256 * 1024 * 1024
_ENVIRONMENT = {
    # Nothing is sent to anybody, and no Ray is started that was not asked for.
    "RAY_USAGE_STATS_ENABLED": "0",
    "RAY_ENABLE_AUTO_CONNECT": "0",
    # What is smaller comes with the call or its reply; what is larger goes through shared memory, and would cost more
    # processor in a message.
    "RAY_max_direct_call_object_size": str(640 * 1024),
    # On SIGTERM, Ray would abort the process after three seconds, whoever handles the signal.
    "RAY_DISABLE_FAILURE_SIGNAL_HANDLER": "1",
    # Shards are as important as what asks them; Ray would give them less of the processor than anybody else.
    "RAY_worker_niceness": "0",
    # Budgets bound the memory of a shard; Ray would end the one with most.
    "RAY_memory_monitor_refresh_ms": "0",
    # What Ray would print on standard output about processes that end is in the log already.
    "RAY_DEDUP_LOGS_SKIP_REGEX": ".",
    # Nobody asks what comes of a notice, such as that a search has ended.
    "RAY_IGNORE_UNHANDLED_ERRORS": "1",
}
_LOCAL_ENVIRONMENT = {
    # Without its head, which nothing starts again, all of it ends after so many seconds, this process too.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "10",
    # All ports are on the loopback interface.
    "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0",
    "RAY_AUTH_MODE": "token",
}
_REMOTE_ENVIRONMENT = {
    # An absence of the head, which comes back, ends nothing.
    "RAY_gcs_rpc_server_reconnect_timeout_s": "600",
    # How many seconds or so a head that is said to be there is looked for.
    "RAY_NUM_REDIS_GET_RETRIES": "5",
}
_CONNECT_SECONDS = 5.0


class Runtime:
    """Ray in this process, of which there is one at most."""

    def __init__(self) -> None:
        """Starts nothing yet."""
        self._lock = threading.Lock()
        self._users = 0
        self._stop: threading.Event | None = None
        self._thread: threading.Thread | None = None

    def acquire(self, address: str, workers: int) -> None:
        """Starts Ray or connects to it, unless that was done; `release` it afterwards.

        Args:
            address: `local`, or the address of a Ray cluster; `auto` for one on this machine.
            workers: how many processes a local one has ready.

        Raises:
            ConfigurationError: Ray is not installed.
            StoreError: Ray does not start, or there is none at the address.
        """
        with self._lock:
            if self._users == 0 and not _import_ray(address).is_initialized():
                self._start(address, workers)
            self._users += 1

    def release(self) -> None:
        """Ends Ray with its last user, if it was started here."""
        with self._lock:
            self._users -= 1
            if self._users == 0 and self._stop is not None and self._thread is not None:
                self._stop.set()
                self._thread.join()
                self._stop = self._thread = None

    @contextmanager
    def used(self, address: str) -> Iterator[None]:
        """Has this process connected to the Ray cluster at an address.

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
        # The kernel ends what a thread has started as the thread ends: this one ends last, however the process does.
        self._thread = threading.Thread(
            target=_run, args=(address, workers, started, self._stop), name="spanwise-ray", daemon=True
        )
        self._thread.start()
        try:
            started.result()
        except Exception as error:  # Ray raises errors of any type as it starts
            self._stop = self._thread = None
            reason = str(error).strip().partition("\n")[0]
            raise StoreError(f"Ray cannot be used, `cluster` is `{address}`: {reason}") from error


def _expect_listener(address: str) -> None:
    """Raises an error if nothing listens at the address of a cluster: Ray would look for it for minutes.

    Raises:
        StoreError: nothing does.
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
    """Returns Ray, which reads its environment as it is imported."""
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
    # Its warnings are about threads and files of its own.
    logging.getLogger("ray").setLevel(logging.ERROR)
    return ray


def _run(address: str, workers: int, started: Future[None], stop: threading.Event) -> None:
    """Has Ray run from the beginning to the end of this thread."""
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
        except Exception as error:  # noqa: BLE001  # for the thread that waits
            started.set_exception(error)
            return
        started.set_result(None)
        stop.wait()
        ray.shutdown()
    finally:
        if folder is not None:
            folder.remove()
