"""Bulk export from and import into a bucket, and readers of objects that are reclaimed at the same time."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from spanwise import TraceStore
from spanwise.cli import commands
from spanwise.errors import UnavailableError
from spanwise.traces.search import queries
from support.clients.otlp import captures
from support.in_process.stores import EVERYTHING, found_traces, ingest, request_of_traces
from support.servers.buckets import BUCKET, S3, Azurite, BucketServer
from support.servers.proxy import Proxy
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.usefixtures("reach")
FORMATS = ("parquet", "arrow", "otlp", "ndjson")
GONE_SECONDS = 10


def run(*arguments: object) -> str:
    done = CliRunner().invoke(commands, [str(argument) for argument in arguments])
    assert done.exit_code == 0, done.output
    return done.output


def search_results(url: str, *, received: bool) -> list[Any]:
    """Returns every trace with its tree, and every session."""
    store = TraceStore.open_read_only(f"{url}/traces")
    total = store.query(queries.runs(EVERYTHING, 1, 1)).total
    pages = [store.query(queries.runs(EVERYTHING, page, 100)) for page in range(1, total // 100 + 2)]
    traces = [trace for page in pages for trace in json.loads(page.data)]
    if not received:
        for trace in traces:
            trace.pop("created_at")
    return [traces, json.loads(store.query(queries.sessions(EVERYTHING, 1, 100)).data)]


@pytest.fixture(scope="module")
def filled(server: BucketServer, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a store with every captured request, partly in segments."""
    url = f"{server.scheme}://{BUCKET}/{tmp_path_factory.mktemp('filled').name}"
    with pytest.MonkeyPatch.context() as patch:
        for name, value in server.environment().items():
            patch.setenv(name, value)
        store = TraceStore.open(f"{url}/traces")
        spans = [capture for capture in captures() if capture.content_encoding == "identity"]
        for capture in spans[:20]:
            store.ingest(capture.body, capture.content_type)
        store.flush()
        for capture in spans[20:30]:
            store.ingest(capture.body, capture.content_type)
        store.close()
    return url


@pytest.mark.parametrize("form", ["parquet", "arrow", "otlp"])
def test_every_search_returns_the_same_after_export_and_import_into_another_bucket(
    tmp_path: Path, filled: str, url: str, form: str
) -> None:
    run("export", filled, "{}", "--format", form, "-o", tmp_path / "file")
    for _ in range(2):  # the second import changes nothing
        assert json.loads(run("import", url, tmp_path / "file", "--json"))["rejected"] == 0
        # An OTLP message has no field for the time of receipt.
        has_received = form != "otlp"
        assert search_results(url, received=has_received) == search_results(filled, received=has_received)


def test_a_service_over_a_bucket_exports_what_the_command_exports(tmp_path: Path, filled: str) -> None:
    with RunningService(tmp_path / "data", "--data-dir", filled, "--cache-dir", str(tmp_path / "cache")) as service:
        by_service = {
            form: service.http.get("/traces/export", params={"format": form}).raise_for_status().content
            for form in FORMATS
        }
        assert service.stop() == 0
    for form in FORMATS:
        run("export", filled, "{}", "--format", form, "-o", tmp_path / form)
        assert (tmp_path / form).read_bytes() == by_service[form], form
    found = json.loads(run("search", filled, "{}", "--json"))["meta"]["total_count"]
    assert found == by_service["ndjson"].count(b"\n") > 10


def filled_with_large_documents(url: str) -> tuple[TraceStore, dict[int, str]]:
    """Returns an open store with a hundred traces in two segments, and the inputs of the traces."""
    rng = random.Random(1)
    # Larger than a piece of an export and the blocks read with it.
    texts = {number: rng.randbytes(50_000).hex() for number in range(1, 101)}
    store = TraceStore.open(url)
    for begin in range(1, 101, 50):
        traces = {number: {"input.value": texts[number]} for number in range(begin, begin + 50)}
        store.ingest(request_of_traces(traces), "application/json")
        store.flush()
    return store, texts


@pytest.mark.parametrize("server", [S3, Azurite], indirect=True, ids=lambda kind: kind.scheme, scope="session")
def test_an_object_is_reclaimed_after_its_last_reader(url: str, folder: str, server: BucketServer) -> None:
    store, texts = filled_with_large_documents(url)
    keys = set(server.keys(f"{folder}/segments/"))
    first = {key for key in keys if key.endswith((".parquet", ".zst"))}
    # Each reader has its own copy of the indexes.
    indexes = {key for key in keys if key.rpartition("/")[2].startswith("index-")}
    assert (len(first), len(indexes)) == (4, 2)
    export, stream = store.export(EVERYTHING, "ndjson"), store.export_spans(EVERYTHING)
    pieces = [next(export)]
    store.delete(EVERYTHING)
    ingest(store, 1)
    store.compact(purge=True)
    assert found_traces(store) == {1}
    keys = set(server.keys(f"{folder}/segments/"))
    assert not indexes & keys, "a purge does not wait"
    assert first <= keys, "two readers are under way"
    pieces += export
    lines = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert {int(line["trace_id"], 16): line["input"] for line in lines} == texts
    assert first <= set(server.keys(f"{folder}/segments/")), "one reader is under way"
    assert pa.table(stream).num_rows == 100
    del export, stream
    deadline = time.monotonic() + GONE_SECONDS
    segments = tuple(key.rpartition("/")[0] for key in first)
    while any(key.startswith(segments) for key in server.keys(f"{folder}/segments/")):
        assert time.monotonic() < deadline, "nobody reads them any more"
        time.sleep(0.05)
    store.close()
    assert TraceStore.check(url)


def test_a_reader_in_another_process_learns_that_its_objects_are_gone(url: str) -> None:
    store, _ = filled_with_large_documents(url)
    export = TraceStore.open_read_only(url).export(EVERYTHING, "ndjson")
    next(export)
    store.delete(EVERYTHING)
    store.compact(purge=True)
    with pytest.raises(UnavailableError, match=r"was removed by another process.*start again"):
        list(export)
    assert list(TraceStore.open_read_only(url).export(EVERYTHING, "ndjson")) == []
    store.close()


def test_a_merge_reads_several_documents_at_once(url: str, server: BucketServer, reach: Callable[..., None]) -> None:
    condition = threading.Condition()
    under_way = peak = 0

    def waits_for_others(kind: str) -> None:
        nonlocal under_way, peak
        if kind.startswith("GET") and kind.endswith("spans.otlp.zst"):
            with condition:
                under_way += 1
                peak = max(peak, under_way)
                condition.notify_all()
                # A document may span two blocks, so two concurrent reads prove nothing.
                condition.wait_for(lambda: peak > 3, 0.5)
                under_way -= 1

    with Proxy(server.port) as proxy:
        reach(proxy)
        store, texts = filled_with_large_documents(url)
        with proxy.injecting(waits_for_others):
            store.compact()
        assert peak > 3
        lines = [json.loads(line) for line in b"".join(store.export(EVERYTHING, "ndjson")).splitlines()]
        assert {int(line["trace_id"], 16): line["input"] for line in lines} == texts
        store.close()
