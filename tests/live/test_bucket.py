"""A store in a bucket: a real S3 server on the loopback, processes that are killed, and a network that misbehaves."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import bucket_writer
import pytest
from bucket import BUCKET, SECRET, Proxy, S3Server, environment
from exports import export_of
from running import Running

from spanwise import Filter, TraceStore
from spanwise.errors import ConfigurationError, StoreDamagedError, StoreError, StoreStoppedError, UnavailableError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
EVERYTHING = Filter.compile(b"{}")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Server]:
    with S3Server(tmp_path_factory.mktemp("s3") / "server.log") as running:
        yield running


@pytest.fixture(autouse=True)
def reached(server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in environment(server.endpoint).items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def url(request: pytest.FixtureRequest) -> str:
    return f"s3://{BUCKET}/{request.node.name}"


def ingest(store: TraceStore, *numbers: int) -> None:
    for number in numbers:
        store.ingest(export_of(f"{number:032x}", "00000000000000a1"), "application/json")


def shown(store: TraceStore) -> set[int]:
    page = store.search_runs(EVERYTHING, 1, 100)
    found = {int(item["trace_id"], 16) for item in json.loads(page.data)}
    assert len(found) == page.total_count
    return found


def spanwise(*arguments: str) -> str:
    done = subprocess.run([sys.executable, "-m", "spanwise", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_service_over_a_bucket_loses_nothing_when_it_is_killed(tmp_path: Path, url: str) -> None:
    flags = ("--data-dir", url, "--cache-dir", str(tmp_path / "cache"))
    trace_ids = [f"{number:032x}" for number in range(1, 31)]
    for kill in range(3):
        with Running(tmp_path / "data", *flags) as service:
            for trace_id in trace_ids[10 * kill : 10 * kill + 10]:
                export = export_of(trace_id, "00000000000000a1", "00000000000000a2")
                service.http.post("/v1/traces", content=export, headers=JSON).raise_for_status()
            assert sorted(service.trace_ids()) == trace_ids[: 10 * kill + 10]
    with Running(tmp_path / "data", *flags) as service:
        doomed = {"filter": {"op": "EQ", "key": "trace_id", "value": trace_ids[0]}}
        service.http.post("/traces/delete", json=doomed).raise_for_status()
        assert sorted(service.trace_ids()) == trace_ids[1:]
        assert service.http.get(f"/traces/{trace_ids[5]}").raise_for_status().json()["total_spans"] == 2
        assert service.stop() == 0
        assert SECRET not in service.log.read_text()
    assert not (tmp_path / "data").exists(), "nothing is kept in a folder but the cache"


def test_the_commands_take_addresses(tmp_path: Path, url: str, server: S3Server) -> None:
    store = TraceStore.open(f"{url}/traces")
    ingest(store, 1, 2, 3)
    store.flush()
    ingest(store, 4)
    copied = json.loads(spanwise("backup", url, str(tmp_path / "copy")))
    assert (copied["segments"], copied["wal_objects"] > 0) == (1, True), "while it is in use"
    store.close()
    assert json.loads(spanwise("check", url))["sealed_traces"] == 3
    assert (
        spanwise("delete", json.dumps({"op": "EQ", "key": "trace_id", "value": f"{2:032x}"}), url)
        == "Traces deleted: 1\n"
    )
    assert len(json.loads(spanwise("search", "{}", url, "--json"))["data"]) == 3
    spanwise("compact", "--purge", url)
    assert json.loads(spanwise("check", url))["hidden_rows"] == 0
    restored = f"{url}-restored"
    spanwise("backup", str(tmp_path / "copy"), restored)
    store = TraceStore.open(f"{restored}/traces")
    assert shown(store) == {1, 2, 3, 4}
    store.close()
    assert not any(SECRET.encode() in server.content(key) for key in server.keys(""))
    for arguments in (["compact", f"{url}-misspelt"], ["check", f"{url}-misspelt"]):
        with pytest.raises(AssertionError, match="expected a store, found no manifest"):
            spanwise(*arguments)
    with pytest.raises(AssertionError, match="expected an empty bucket"):
        spanwise("backup", str(tmp_path / "copy"), restored)


def test_segments_are_merged_and_removed_when_nobody_reads_them(url: str, server: S3Server) -> None:
    store = TraceStore.open(url)
    for number in range(1, 5):
        ingest(store, number)
        store.flush()
    store.compact()
    assert shown(store) == {1, 2, 3, 4}
    store.close()
    store = TraceStore.open(url)
    prefix = f"{url.removeprefix(f's3://{BUCKET}/')}/segments/"
    assert len({key.removeprefix(prefix).split("/")[0] for key in server.keys(prefix)}) == 1
    assert shown(store) == {1, 2, 3, 4}
    store.close()


def test_of_eight_processes_at_once_at_most_one_acknowledges(url: str) -> None:
    command = [sys.executable, bucket_writer.__file__, url]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen([*command, str(number)], stdin=pipe, stdout=pipe, stderr=pipe, text=True)
        for number in range(1, 9)
    ]
    said: list[str] = []
    for process in processes:
        assert process.stdout is not None
        for line in process.stdout:
            said.append(line.strip())
            if line.strip() in {"refused", "done"}:
                break
        else:
            raise AssertionError(process.communicate()[1])
    after = [process.communicate("once more\n") for process in processes]
    assert [fault for _, fault in after if fault] == []
    last = [line for output, _ in after for line in output.splitlines()]
    assert sum(line.startswith("acknowledged") for line in last) == 1, (said, last)
    store = TraceStore.open(url)
    acknowledged = {int(line.split()[1], 16) for line in said + last if line.startswith("acknowledged")}
    assert acknowledged <= shown(store)
    store.close()


@pytest.mark.parametrize("claims", [1, 2])
def test_a_writer_replaced_in_the_middle_of_a_put_acknowledges_nothing(
    url: str, server: S3Server, monkeypatch: pytest.MonkeyPatch, claims: int
) -> None:
    arrived, goes_on = threading.Event(), threading.Event()

    def waits(kind: str) -> None:
        if kind.startswith("PUT") and "/wal/" in kind:
            arrived.set()
            goes_on.wait(30)

    with Proxy(server.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
        monkeypatch.setenv("AWS_READ_TIMEOUT", "30 seconds")
        first = TraceStore.open(url)
        ingest(first, 1)
        outcome: list[Exception] = []

        def put() -> None:
            try:
                ingest(first, 2)
            except UnavailableError as error:
                outcome.append(error)

        with proxy.misbehaving(waits):
            putting = threading.Thread(target=put)
            putting.start()
            assert arrived.wait(30)
            monkeypatch.setenv("AWS_ENDPOINT", server.endpoint)
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
    assert shown(second) == {1, *range(10, 10 + claims)}
    second.close()


@pytest.mark.parametrize("fault", ["slow down", "cut before", "cut after", "half", "stall"])
def test_what_is_acknowledged_over_a_bad_network_is_there(
    url: str, server: S3Server, monkeypatch: pytest.MonkeyPatch, fault: str
) -> None:
    rng = random.Random(fault)
    share = 0.03 if fault == "stall" else 0.2
    acknowledged: set[int] = set()
    with Proxy(server.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
        store = TraceStore.open(url)
        with proxy.misbehaving(lambda _: fault if rng.random() < share else None):
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
        assert proxy.seen[fault] > 0
        ingest(store, 100)
        acknowledged.add(100)
        assert len(acknowledged) > 15, "most of it is tried again with success"
        assert acknowledged <= shown(store)
        store.close()
    monkeypatch.setenv("AWS_ENDPOINT", server.endpoint)
    store = TraceStore.open(url)
    assert acknowledged <= shown(store)
    store.close()


def test_an_outage_refuses_for_a_while_and_the_store_goes_on_by_itself(
    url: str, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Proxy(server.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
        store = TraceStore.open(url)
        ingest(store, 1)
        with proxy.misbehaving(lambda _: "slow down"), pytest.raises(UnavailableError) as refusal:
            ingest(store, 2)
        assert not isinstance(refusal.value, StoreStoppedError)
        assert SECRET not in str(refusal.value)
        ingest(store, 3)
        assert {1, 3} <= shown(store)
        store.close()


def test_a_put_in_doubt_is_settled_by_the_next_one(url: str, server: S3Server, monkeypatch: pytest.MonkeyPatch) -> None:
    with Proxy(server.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
        store = TraceStore.open(url)
        ingest(store, 1)
        with (
            proxy.misbehaving(lambda kind: "cut after" if "/wal/" in kind else None),
            pytest.raises(UnavailableError, match="it is not known whether it was stored"),
        ):
            ingest(store, 2)
        assert shown(store) == {1}, "what is not acknowledged is not shown yet"
        with pytest.raises(UnavailableError, match="a write that was given up came late"):
            ingest(store, 3)
        assert shown(store) == {1, 2}
        ingest(store, 3)
        assert shown(store) == {1, 2, 3}
        store.close()
    monkeypatch.setenv("AWS_ENDPOINT", server.endpoint)
    store = TraceStore.open(url)
    assert shown(store) == {1, 2, 3}
    store.close()


def test_damage_in_a_bucket_is_named(url: str, server: S3Server) -> None:
    store = TraceStore.open(url)
    ingest(store, 1)
    store.flush()
    store.close()
    (documents,) = [key for key in server.keys(url.removeprefix(f"s3://{BUCKET}/")) if key.endswith(".zst")]
    content = bytearray(server.content(documents))
    content[30] ^= 1
    server.replace(documents, bytes(content))
    with pytest.raises(StoreDamagedError, match=r"spans\.otlp\.zst"):
        TraceStore.check(url)


@pytest.mark.parametrize(
    ("address", "variables", "message"),
    [
        ("s3://user:a-secret-that-nobody-may-see@bucket/x", {}, "keys and endpoints come from the environment"),
        ("s3://bucket/x?key=a-secret-that-nobody-may-see", {}, "nothing after it"),
        ("s3:///x", {}, "expected the name of a bucket"),
        ("ftp://bucket/x", {}, "got `ftp://`"),
        (f"s3://{BUCKET}/off", {"AWS_CONDITIONAL_PUT": "disabled"}, "conditional puts"),
        (f"s3://{BUCKET}/x", {"AWS_ALLOW_HTTP": SECRET}, "a value that does not fit"),
        ("gs://bucket/x", {"GOOGLE_SERVICE_ACCOUNT_KEY": SECRET}, "variables `GOOGLE_"),
        (
            "az://bucket/x",
            {"AZURE_STORAGE_ACCOUNT_NAME": "x", "AZURE_STORAGE_ACCOUNT_KEY": SECRET},
            "variables `AZURE_",
        ),
    ],
)
def test_an_address_or_environment_that_cannot_be_used_is_named_without_its_secrets(
    monkeypatch: pytest.MonkeyPatch, address: str, variables: dict[str, str], message: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError, match=message) as refusal:
        TraceStore.open(address)
    assert SECRET not in str(refusal.value)


def test_a_bucket_that_is_not_there_is_named(url: str) -> None:
    with pytest.raises(StoreError, match="no such bucket"):
        TraceStore.open(url.replace(BUCKET, "another-bucket"))


def test_documents_read_lately_need_no_request(
    tmp_path: Path, url: str, server: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = json.dumps({"cache_dir": str(tmp_path / "cache"), "cache_bytes": 10_000_000}).encode()
    with Proxy(server.port) as proxy:
        monkeypatch.setenv("AWS_ENDPOINT", proxy.endpoint)
        store = TraceStore.open(url, options)
        rng = random.Random(1)
        for number in range(1, 41):
            text = "".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=20_000))
            store.ingest(export_of(f"{number:032x}", "00000000000000a1", **{"input.value": text}), "application/json")
        store.flush()
        assert len(shown(store)) == 40
        before = sum(proxy.seen.values())
        assert len(shown(store)) == 40
        assert sum(proxy.seen.values()) == before
        store.close()
    kept = sum(file.stat().st_size for file in (tmp_path / "cache").rglob("*") if file.is_file())
    assert 100_000 < kept <= 10_000_000
