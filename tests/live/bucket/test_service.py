"""A service and commands over a bucket: kills, reclamation, damage and rejected addresses."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING

import pytest

from spanwise import TraceStore
from spanwise.errors import ConfigurationError, StoreDamagedError, StoreError
from support.clients.otlp import export_request
from support.in_process.commands import spanwise
from support.in_process.stores import found_traces, ingest, request_of_traces
from support.servers.buckets import BUCKET, SECRET, BucketServer
from support.servers.proxy import Proxy
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("reach")
JSON = {"Content-Type": "application/json"}


def test_a_service_over_a_bucket_loses_nothing_when_it_is_killed(tmp_path: Path, url: str) -> None:
    flags = ("--data-dir", url, "--cache-dir", str(tmp_path / "cache"))
    trace_ids = [f"{number:032x}" for number in range(1, 31)]
    for kill in range(3):
        with RunningService(tmp_path / "data", *flags) as service:
            for trace_id in trace_ids[10 * kill : 10 * kill + 10]:
                export = export_request(trace_id, "00000000000000a1", "00000000000000a2")
                service.http.post("/v1/traces", content=export, headers=JSON).raise_for_status()
            assert sorted(service.trace_ids()) == trace_ids[: 10 * kill + 10]
    with RunningService(tmp_path / "data", *flags) as service:
        doomed = {"filter": {"op": "EQ", "key": "trace_id", "value": trace_ids[0]}}
        service.http.post("/traces/delete", json=doomed).raise_for_status()
        assert sorted(service.trace_ids()) == trace_ids[1:]
        assert service.http.get(f"/traces/{trace_ids[5]}").raise_for_status().json()["total_spans"] == 2
        assert service.stop() == 0
        assert SECRET not in service.log.read_text()
    report = json.loads(spanwise("check", url, "--json"))
    assert (report["indexes"] > 0, report["other_indexes"]) == (True, [])
    assert not (tmp_path / "data").exists(), "nothing is kept in a folder but the cache"


def test_the_commands_take_addresses(tmp_path: Path, url: str, folder: str, server: BucketServer) -> None:
    store = TraceStore.open(f"{url}/traces")
    ingest(store, 1, 2, 3)
    store.flush()
    ingest(store, 4)
    copied = json.loads(spanwise("backup", url, str(tmp_path / "copy"), "--json"))
    assert (copied["segments"], copied["wal_objects"] > 0) == (1, True), "while it is in use"
    assert copied["indexes"] > 0
    assert json.loads(spanwise("backup", "--without-indexes", url, str(tmp_path / "smaller"), "--json"))["indexes"] == 0
    store.close()
    assert json.loads(spanwise("check", url, "--json"))["sealed_traces"] == 3
    assert (
        spanwise("delete", url, json.dumps({"op": "EQ", "key": "trace_id", "value": f"{2:032x}"}))
        == "Deleted 1 trace.\n"
    )
    assert len(json.loads(spanwise("search", url, "{}", "--json"))["data"]) == 3
    spanwise("compact", "--purge", url)
    assert json.loads(spanwise("check", url, "--json"))["hidden_rows"] == 0
    restored = f"{url}-restored"
    spanwise("backup", str(tmp_path / "copy"), restored)
    store = TraceStore.open(f"{restored}/traces")
    assert found_traces(store) == {1, 2, 3, 4}
    store.close()
    assert not any(SECRET.encode() in server.content(key) for key in server.keys(folder))
    for arguments in (["compact", f"{url}-misspelt"], ["check", f"{url}-misspelt"]):
        with pytest.raises(AssertionError, match="expected a store, found no manifest"):
            spanwise(*arguments)
    with pytest.raises(AssertionError, match="expected an empty bucket"):
        spanwise("backup", str(tmp_path / "copy"), restored)


def test_segments_are_merged_and_removed_when_nobody_reads_them(url: str, folder: str, server: BucketServer) -> None:
    without_readers = b'{"linger_seconds": 0}'
    store = TraceStore.open(url, without_readers)
    for number in range(1, 5):
        ingest(store, number)
        store.flush()
    store.compact()
    assert found_traces(store) == {1, 2, 3, 4}
    store.close()
    store = TraceStore.open(url, without_readers)
    prefix = f"{folder}/segments/"
    assert len({key.removeprefix(prefix).split("/")[0] for key in server.keys(prefix)}) == 1
    assert found_traces(store) == {1, 2, 3, 4}
    store.close()


def test_damage_in_a_bucket_is_named(url: str, folder: str, server: BucketServer) -> None:
    store = TraceStore.open(url)
    ingest(store, 1)
    store.flush()
    store.close()
    (documents,) = [key for key in server.keys(folder) if key.endswith(".zst")]
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
    with pytest.raises(ConfigurationError, match=message) as rejection:
        TraceStore.open(address)
    assert SECRET not in str(rejection.value)


def test_a_missing_bucket_is_named(url: str) -> None:
    with pytest.raises(StoreError, match="no such bucket"):
        TraceStore.open(url.replace(BUCKET, "another-bucket"))


def is_of_documents(request: str) -> bool:
    """Other requests come at any time: index objects are written, and the writer verifies its claim."""
    return request.startswith("GET ") and request.endswith("/spans.otlp.zst")


def test_recently_read_documents_need_no_request(
    tmp_path: Path, url: str, server: BucketServer, reach: Callable[..., None]
) -> None:
    options = json.dumps({"cache_dir": str(tmp_path / "cache"), "cache_bytes": 10_000_000}).encode()
    with Proxy(server.port) as proxy:
        reach(proxy)
        store = TraceStore.open(url, options)
        rng = random.Random(1)
        texts = ["".join(rng.choices("abcdefghijklmnopqrstuvwxyz", k=20_000)) for _ in range(40)]
        body = request_of_traces({number: {"input.value": text} for number, text in enumerate(texts, 1)})
        store.ingest(body, "application/json")
        store.flush()
        requests: list[str] = []
        with proxy.injecting(requests.append):
            assert len(found_traces(store)) == 40
            read = [request for request in requests if is_of_documents(request)]
            assert read, requests
            assert len(found_traces(store)) == 40
            assert [request for request in requests if is_of_documents(request)] == read
        store.close()
    kept = sum(file.stat().st_size for file in (tmp_path / "cache").rglob("*") if file.is_file())
    assert 100_000 < kept <= 10_000_000
