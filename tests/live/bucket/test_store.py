"""A store in a bucket of each cloud: a single writer, and failures of processes and networks."""

from __future__ import annotations

import json
import subprocess
import threading
import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from spanwise.errors import StoreError, StoreStoppedError, UnavailableError
from support.in_process.stores import found_traces, ingest
from support.programs import start
from support.servers.buckets import S3, SECRET, Azurite, BucketServer, GoogleStorage
from support.servers.proxy import Proxy

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("reach")
everywhere = pytest.mark.parametrize(
    "server", [S3, Azurite, GoogleStorage], indirect=True, ids=lambda kind: kind.scheme, scope="session"
)
# An unanswered request costs a second, so there are few.
INJECTED = ("slow down", "cut before", "cut after", "half", "slow down", "cut before", "cut after", "half", "stall")


@everywhere
def test_at_most_one_of_eight_processes_acknowledges(url: str) -> None:
    pipe = subprocess.PIPE
    processes = [start("bucket_writer", url, number, stdin=pipe, stderr=pipe) for number in range(1, 9)]
    lines: list[str] = []
    for process in processes:
        assert process.stdout is not None
        for line in process.stdout:
            lines.append(line.strip())
            if line.strip() in {"rejected", "done"}:
                break
        else:
            raise AssertionError(process.communicate()[1])
    after = [process.communicate("once more\n") for process in processes]
    assert [error for _, error in after if error] == []
    last = [line for output, _ in after for line in output.splitlines()]
    assert sum(line.startswith("acknowledged") for line in last) == 1, (lines, last)
    store = TraceStore.open(url)
    acknowledged = {int(line.split()[1], 16) for line in lines + last if line.startswith("acknowledged")}
    assert acknowledged <= found_traces(store)
    store.close()


@everywhere
@pytest.mark.parametrize("claims", [1, 2])
def test_a_writer_replaced_in_the_middle_of_a_put_acknowledges_nothing(
    url: str, server: BucketServer, reach: Callable[..., None], monkeypatch: pytest.MonkeyPatch, claims: int
) -> None:
    arrived, goes_on = threading.Event(), threading.Event()

    def waits(kind: str) -> None:
        if kind.startswith("PUT") and "/wal/" in kind:
            arrived.set()
            goes_on.wait(30)

    with Proxy(server.port) as proxy:
        reach(proxy)
        monkeypatch.setenv(server.timeout_variable, "30 seconds")
        first = TraceStore.open(url)
        ingest(first, 1)
        outcome: list[Exception] = []

        def put() -> None:
            try:
                ingest(first, 2)
            except UnavailableError as error:
                outcome.append(error)

        with proxy.injecting(waits):
            putting = threading.Thread(target=put)
            putting.start()
            assert arrived.wait(30)
            reach()
            for claim in range(claims):
                second = TraceStore.open(url)
                ingest(second, 10 + claim)
                second.flush()
            goes_on.set()
            putting.join()
        assert [type(error) for error in outcome] == [StoreStoppedError]
        with pytest.raises(StoreStoppedError):
            first.flush()
        first.close()
    assert found_traces(second) == {1, *range(10, 10 + claims)}
    second.close()


@everywhere
def test_acknowledged_traces_survive_a_bad_network(url: str, server: BucketServer, reach: Callable[..., None]) -> None:
    requests = count(1)

    def every_fourth(_: str) -> str | None:
        turn, rest = divmod(next(requests), 4)
        return INJECTED[turn % len(INJECTED)] if rest == 0 else None

    acknowledged: set[int] = set()
    with Proxy(server.port) as proxy:
        reach(proxy)
        store = TraceStore.open(url)
        with proxy.injecting(every_fourth):
            for number in range(1, 21):
                try:
                    ingest(store, number)
                    acknowledged.add(number)
                except StoreStoppedError:
                    raise
                except UnavailableError:
                    continue
                if number % 7 == 0:
                    try:
                        store.flush()
                    except StoreError:
                        continue
        assert all(proxy.outcomes[error] > 0 for error in INJECTED), proxy.outcomes
        ingest(store, 100)
        acknowledged.add(100)
        assert len(acknowledged) > 15, "most of it is tried again with success"
        assert acknowledged <= found_traces(store)
        store.close()
    reach()
    store = TraceStore.open(url)
    assert acknowledged <= found_traces(store)
    store.close()


@everywhere
def test_a_process_with_an_empty_cache_finds_everything(tmp_path: Path, url: str) -> None:
    for cache in range(3):
        store = TraceStore.open(url, f'{{"cache_dir": "{tmp_path}/{cache}"}}'.encode())
        before = set(range(1, 2 * cache + 1))
        assert found_traces(store) == before, "sealed and not sealed ones"
        ingest(store, 2 * cache + 1)
        store.flush()
        ingest(store, 2 * cache + 2)
        store.close()


@everywhere
def test_a_process_with_an_empty_cache_copies_the_indexes(
    tmp_path: Path, url: str, folder: str, server: BucketServer
) -> None:
    def opened(cache: str) -> TraceStore:
        return TraceStore.open(url, json.dumps({"cache_dir": str(tmp_path / cache)}).encode())

    def cached(cache: str) -> dict[str, bytes]:
        files = (tmp_path / cache / "indexes").glob("*/*")
        return {f"{file.parent.name}/{file.name}": file.read_bytes() for file in files}

    store = opened("first")
    for number in range(1, 4):
        ingest(store, number)
        store.flush()
    wait_until_indexed(store)
    store.close()
    assert len(cached("first")) == 12
    rows = [key for key in server.keys(folder) if key.endswith(".parquet")]
    assert len(rows) == 3
    for key in rows:
        # Index builds read these rows and find them damaged.
        server.replace(key, bytes(len(server.content(key))))
    store = opened("second")
    assert found_traces(store) == {1, 2, 3}
    wait_until_indexed(store)
    store.close()
    assert cached("second") == cached("first")


def wait_until_indexed(store: TraceStore) -> None:
    deadline = time.monotonic() + 60
    while any(json.loads(store.stats())[f"segments_without_{kind}"] for kind in ("spans", "texts", "attributes")):
        assert time.monotonic() < deadline, store.stats()
        time.sleep(0.05)


def test_an_outage_rejects_for_a_while_and_the_store_recovers(
    url: str, server: BucketServer, reach: Callable[..., None]
) -> None:
    with Proxy(server.port) as proxy:
        reach(proxy)
        store = TraceStore.open(url)
        ingest(store, 1)
        with proxy.injecting(lambda _: "slow down"), pytest.raises(UnavailableError) as rejection:
            ingest(store, 2)
        assert not isinstance(rejection.value, StoreStoppedError)
        assert SECRET not in str(rejection.value)
        ingest(store, 3)
        assert {1, 3} <= found_traces(store)
        store.close()


def in_doubt(kind: str) -> str | None:
    """Loses the responses to writes, and rejects the requests that verify them."""
    if "/wal/" not in kind:
        return None
    return "cut after" if kind.startswith("PUT") else "forbidden"


def test_an_uncertain_put_is_settled_by_the_next_one(
    url: str, server: BucketServer, reach: Callable[..., None]
) -> None:
    with Proxy(server.port) as proxy:
        reach(proxy)
        store = TraceStore.open(url)
        ingest(store, 1)
        with (
            proxy.injecting(in_doubt),
            pytest.raises(UnavailableError, match="it is not known whether it was stored"),
        ):
            ingest(store, 2)
        assert found_traces(store) == {1}, "what is not acknowledged is not shown yet"
        with pytest.raises(UnavailableError, match="a write that was given up arrived late"):
            ingest(store, 3)
        assert found_traces(store) == {1, 2}
        ingest(store, 3)
        assert found_traces(store) == {1, 2, 3}
        store.close()
    reach()
    store = TraceStore.open(url)
    assert found_traces(store) == {1, 2, 3}
    store.close()
