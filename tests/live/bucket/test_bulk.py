"""Bulk data out of a bucket and into one, and readers of what was replaced meanwhile."""

from __future__ import annotations

import json
import random
import threading
import time
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pytest
from click.testing import CliRunner
from support.object_servers import BUCKET, S3, Azurite, Server
from support.otlp_requests import captures
from support.proxy import Proxy
from support.service import Running
from support.stores import EVERYTHING, ingest, shown, together

from spanwise import TraceStore
from spanwise.cli import commands
from spanwise.errors import UnavailableError

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


def answers(url: str, *, received: bool) -> list[Any]:
    """Returns every trace with its tree, and every session."""
    store = TraceStore.look(f"{url}/traces")
    total = store.search_runs(EVERYTHING, 1, 1).total_count
    pages = [store.search_runs(EVERYTHING, page, 100) for page in range(1, total // 100 + 2)]
    traces = [trace for page in pages for trace in json.loads(page.data)]
    if not received:
        for trace in traces:
            trace.pop("created_at")
    return [traces, json.loads(store.search_sessions(EVERYTHING, 1, 100).data)]


@pytest.fixture(scope="module")
def filled(server: Server, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The address of a store with every captured export, some sealed, some not."""
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
def test_exported_from_a_bucket_and_imported_into_another_every_search_answers_the_same(
    tmp_path: Path, filled: str, url: str, form: str
) -> None:
    run("export", filled, "{}", "--format", form, "-o", tmp_path / "file")
    for _ in range(2):  # the second time changes nothing
        assert "Refused: 0." in run("import", tmp_path / "file", url)
        # An OTLP message has no place for when its spans were received.
        has_received = form != "otlp"
        assert answers(url, received=has_received) == answers(filled, received=has_received)


def test_what_a_service_over_a_bucket_exports_is_what_the_command_exports(tmp_path: Path, filled: str) -> None:
    with Running(tmp_path / "data", "--data-dir", filled, "--cache-dir", str(tmp_path / "cache")) as service:
        by_service = {
            form: service.http.get("/traces/export", params={"format": form}).raise_for_status().content
            for form in FORMATS
        }
        assert service.stop() == 0
    for form in FORMATS:
        run("export", filled, "{}", "--format", form, "-o", tmp_path / form)
        assert (tmp_path / form).read_bytes() == by_service[form], form
    found = json.loads(run("search", "{}", filled, "--json"))["meta"]["total_count"]
    assert found == by_service["ndjson"].count(b"\n") > 10


def filled_with_large_documents(url: str) -> tuple[TraceStore, dict[int, str]]:
    """Returns an open store with a hundred traces in two segments, and the inputs of the traces."""
    rng = random.Random(1)
    # More than a piece of an export and the blocks that are read with it.
    texts = {number: rng.randbytes(50_000).hex() for number in range(1, 101)}
    store = TraceStore.open(url)
    for begin in range(1, 101, 50):
        traces = {number: {"input.value": texts[number]} for number in range(begin, begin + 50)}
        store.ingest(together(traces), "application/json")
        store.flush()
    return store, texts


@pytest.mark.parametrize("server", [S3, Azurite], indirect=True, ids=lambda kind: kind.scheme, scope="session")
def test_an_object_goes_after_its_last_reader(url: str, folder: str, server: Server) -> None:
    store, texts = filled_with_large_documents(url)
    first = set(server.keys(f"{folder}/segments/"))
    export, stream = store.export(EVERYTHING, "ndjson"), store.export_spans(EVERYTHING)
    pieces = [next(export)]
    store.delete(EVERYTHING)
    ingest(store, 1)
    store.compact(purge=True)
    assert shown(store) == {1}
    assert first <= set(server.keys(f"{folder}/segments/")), "two readers are under way"
    pieces += export
    lines = [json.loads(line) for line in b"".join(pieces).splitlines()]
    assert {int(line["trace_id"], 16): line["input"] for line in lines} == texts
    assert first <= set(server.keys(f"{folder}/segments/")), "one reader is under way"
    assert pa.table(stream).num_rows == 100
    del export, stream
    deadline = time.monotonic() + GONE_SECONDS
    while first & set(server.keys(f"{folder}/segments/")):
        assert time.monotonic() < deadline, "nobody reads them any more"
        time.sleep(0.05)
    store.close()
    assert TraceStore.check(url)


def test_a_reader_in_another_process_is_told_that_its_objects_went(url: str) -> None:
    store, _ = filled_with_large_documents(url)
    export = TraceStore.look(url).export(EVERYTHING, "ndjson")
    next(export)
    store.delete(EVERYTHING)
    store.compact(purge=True)
    with pytest.raises(UnavailableError, match=r"was removed by another process.*start again"):
        list(export)
    assert list(TraceStore.look(url).export(EVERYTHING, "ndjson")) == []
    store.close()


def test_a_merge_reads_several_documents_at_once(url: str, server: Server, reach: Callable[..., None]) -> None:
    condition = threading.Condition()
    under_way = most = 0

    def waits_for_others(kind: str) -> None:
        nonlocal under_way, most
        if kind.startswith("GET") and kind.endswith("spans.otlp.zst"):
            with condition:
                under_way += 1
                most = max(most, under_way)
                condition.notify_all()
                # A document may lie across two blocks, so two are no proof.
                condition.wait_for(lambda: most > 3, 0.5)
                under_way -= 1

    with Proxy(server.port) as proxy:
        reach(proxy)
        store, texts = filled_with_large_documents(url)
        with proxy.misbehaving(waits_for_others):
            store.compact()
        assert most > 3
        lines = [json.loads(line) for line in b"".join(store.export(EVERYTHING, "ndjson")).splitlines()]
        assert {int(line["trace_id"], 16): line["input"] for line in lines} == texts
        store.close()
