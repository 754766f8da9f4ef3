"""Builds the store whose answers are recorded, and surveys its contents for the requests.

The store has segments of different sizes, one of them merged from several; deleted traces; late spans of sealed traces
and new traces in the head; and two segments with damaged documents. One of them was indexed before the damage. The
other has no text index, because its documents cannot be read.

An engine with another format of indexes builds them again, and cannot read the damaged documents then. Differences of
damaged traces are expected between two such engines.

The same seed gives the same spans. Segment ids and `created_at` are new in each store, so compare only recordings of
one store.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import time
from contextlib import asynccontextmanager
from pathlib import Path
from random import Random
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, TypeVar

import msgspec

from answers.application import running
from answers.made_traces import DOOMED, TraceMaker, trace_id
from answers.survey import Survey, survey
from spanwise import TraceStore
from support.clients.otlp import captures

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Iterator

    from answers.application import Application
    from support.clients.otlp import Capture

SURVEY = "survey.json"
"""The file of the survey, beside the store in its data folder."""
_A_BATCH = 50
Item = TypeVar("Item")
_OPTIONS = json.dumps({"min_free_bytes": 0, "seal_seconds": 1_000_000}).encode()
_INDEXES = ("spans", "text", "attributes")
_FLIPS = 4
"""Bytes that are flipped in each damaged file of documents, each in another place."""


async def build(folder: Path, traces: int, seed: int, shards: int = 1) -> Survey:
    """Builds a store of about this number of traces in a new data folder, and returns its survey."""
    await asyncio.to_thread(folder.mkdir, parents=True)
    made = TraceMaker(seed)
    shares = _shares(traces)
    for number, share in enumerate(shares["merged"]):
        async with running(folder, shards=shards) as application:
            await _ingest(application, made, share)
            if number == 0:
                await _ingest_captures(application)
        _flush(folder)
    _flush(folder, compact=True)
    added: dict[str, list[Path]] = {}
    for name in ("large", "interleaved", "damaged", "unindexed", "tiny"):
        async with running(folder, shards=shards) as application:
            await _ingest(application, made, shares[name][0])
        added[name] = _flush(folder)
    sealed = [number for name in ("merged", "large", "interleaved") for share in shares[name] for number in share]
    async with running(folder, shards=shards) as application:
        await _delete(application, sealed)
        await _ingest(application, made, shares["head"][0])
        late = [number for number in sealed if number % 41 == 0]
        for numbers in _batches(late):
            await application.post_bytes("/v1/traces", made.late_export(numbers))
        await application.post_bytes("/v1/logs", made.log_request(late[:20]))
    for segment in added["damaged"] + added["unindexed"]:
        _damage(segment)
    for segment in added["unindexed"]:
        _remove_indexes(segment)
    async with opened_copy(folder) as application:
        found = await survey(application, Random(seed))
    (folder / SURVEY).write_bytes(msgspec.json.encode(found))
    return found


def load_survey(folder: Path) -> Survey:
    """Returns the survey of a store."""
    return msgspec.json.decode((folder / SURVEY).read_bytes(), type=Survey)


@asynccontextmanager
async def opened_copy(folder: Path) -> AsyncIterator[Application]:
    """Opens a copy of the store in a data folder. Thus neither caches nor background work change the store."""
    with TemporaryDirectory(prefix="answers") as temporary:
        copy = Path(temporary) / "data"
        await asyncio.to_thread(shutil.copytree, folder, copy)
        async with running(copy) as application:
            yield application


def _shares(traces: int) -> dict[str, list[list[int]]]:
    """Returns the numbers of the traces of each segment and of the head, in the order in which they are ingested."""
    numbers = list(range(1, traces + 1))
    # Traces of one segment are from the whole time range.
    interleaved = [number for number in numbers if number % 6 == 0]
    others = [number for number in numbers if number % 6]

    def part(start: float, end: float) -> list[int]:
        return others[int(len(others) * start) : int(len(others) * end)]

    return {
        "merged": [part(0, 0.02), part(0.02, 0.05), part(0.05, 0.08)],
        "large": [part(0.08, 0.6)],
        "interleaved": [interleaved],
        "damaged": [part(0.6, 0.75)],
        "unindexed": [part(0.75, 0.82)],
        "tiny": [part(0.82, 0.825)],
        "head": [part(0.825, 1)],
    }


async def _ingest(application: Application, made: TraceMaker, numbers: list[int]) -> None:
    for batch in _batches(numbers):
        await application.post_bytes("/v1/traces", made.export(batch))


async def _ingest_captures(application: Application) -> None:
    def sent(capture: Capture) -> Awaitable[bytes]:
        headers = {"Content-Type": capture.content_type}
        if capture.content_encoding != "identity":
            headers["Content-Encoding"] = capture.content_encoding
        return application.post_bytes("/v1/traces", capture.body, headers=headers)

    # The spans of a trace may arrive in any order, so requests at once become durable together.
    for batch in _batches(captures()):
        await asyncio.gather(*map(sent, batch))


async def _delete(application: Application, sealed: list[int]) -> None:
    """Deletes the traces of one tenant, and single ones."""
    single = [trace_id(number) for number in sealed if number % 53 == 0]
    for condition in (
        {"op": "EQ", "key": "attributes.tenant", "value": DOOMED},
        {"op": "IN", "key": "trace_id", "values": single},
    ):
        await application.post_bytes("/traces/delete", json.dumps({"filter": condition}).encode())


def _batches(items: list[Item]) -> Iterator[list[Item]]:
    for first in range(0, len(items), _A_BATCH):
        yield items[first : first + _A_BATCH]


def _stores(folder: Path) -> list[Path]:
    """Returns the folder of the store, or the folders of its shards."""
    shards = folder / "traces" / "shards"
    return sorted(shards.iterdir()) if shards.is_dir() else [folder / "traces"]


def _flush(folder: Path, *, compact: bool = False) -> list[Path]:
    """Flushes every store, waits for its indexes, and returns the folders of the new segments."""
    added = []
    for path in _stores(folder):
        before = set((path / "segments").glob("*"))
        store = TraceStore.open(str(path), _OPTIONS)
        store.flush()
        if compact:
            store.compact()
        _wait_for_indexes(store)
        store.close()
        added += sorted(set((path / "segments").glob("*")) - before)
    return added


def _wait_for_indexes(store: TraceStore) -> None:
    while True:
        stats = json.loads(store.stats())
        if not (
            stats["is_merging"] or any(stats[f"segments_without_{kind}"] for kind in ("spans", "texts", "attributes"))
        ):
            return
        time.sleep(0.05)


def _damage(segment: Path) -> None:
    """Flips bytes in the documents of a segment. No row and no index changes."""
    documents = segment / "spans.otlp.zst"
    content = bytearray(documents.read_bytes())
    for flip in range(_FLIPS):
        content[len(content) * (2 * flip + 1) // (2 * _FLIPS)] ^= 1
    documents.write_bytes(content)


def _remove_indexes(segment: Path) -> None:
    removed = [path for path in segment.parents[1].glob(f"cache/**/{segment.name}/*") if path.name in _INDEXES]
    assert len(removed) == len(_INDEXES), removed
    for path in removed:
        path.unlink()
