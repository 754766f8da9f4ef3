"""An export that fails half-way: in every format, a reader can distinguish the failure from the end."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from typing import TYPE_CHECKING

import httpx
import pytest

from spanwise import TraceStore
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

FORMATS = ("parquet", "arrow", "ndjson", "otlp")
REQUESTS, TRACES = 30, 100
TEXT_BYTES = 3000
DAMAGED_BYTES = 64


def request_of(number: int, generator: random.Random) -> bytes:
    """Returns an OTLP request of traces with incompressible text, so that an export has several chunks."""
    spans = [
        {
            "traceId": f"{number * TRACES + each + 1:032x}",
            "spanId": "00000000000000a1",
            "name": "export",
            "startTimeUnixNano": "1700000000000000000",
            "endTimeUnixNano": "1700000000100000000",
            "attributes": [{"key": "input.value", "value": {"stringValue": generator.randbytes(TEXT_BYTES).hex()}}],
        }
        for each in range(TRACES)
    ]
    return json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]}).encode()


@pytest.fixture(scope="module")
def data_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export")
    store = TraceStore.open(str(folder / "traces"))
    generator = random.Random(7)
    for number in range(REQUESTS):
        store.ingest(request_of(number, generator), "application/json")
    store.flush()
    store.close()
    return folder


@pytest.fixture(scope="module")
def damaged(data_dir: Path) -> Iterator[RunningService]:
    """A service whose documents are damaged near the end after it has opened them."""
    with RunningService(data_dir) as service:
        whole = service.http.get("/traces/export", params={"format": "ndjson"})
        assert whole.content.count(b"\n") == REQUESTS * TRACES
        documents = max(
            (data_dir / "traces" / "segments").glob("*/spans.otlp.zst"), key=lambda path: path.stat().st_size
        )
        with documents.open("r+b") as file:
            file.seek(documents.stat().st_size * 97 // 100)
            bytes_there = file.read(DAMAGED_BYTES)
            file.seek(-DAMAGED_BYTES, 1)
            file.write(bytes(byte ^ 0xFF for byte in bytes_there))
        yield service


@pytest.mark.parametrize("encoding", ["identity", "gzip, zstd"])
@pytest.mark.parametrize("format_name", FORMATS)
def test_an_export_that_fails_is_an_error_or_a_broken_body(
    damaged: RunningService, format_name: str, encoding: str
) -> None:
    received = b""
    try:
        with damaged.http.stream(
            "GET", "/traces/export", params={"format": format_name}, headers={"Accept-Encoding": encoding}
        ) as response:
            for chunk in response.iter_raw():
                received += chunk
        assert response.status_code == 500, "a body that ends is a whole export"
    except httpx.RemoteProtocolError:
        assert received, "the break comes after what was sent before it"


@pytest.mark.parametrize("format_name", FORMATS)
def test_the_command_fails_and_leaves_no_file_that_looks_whole(
    damaged: RunningService, tmp_path: Path, format_name: str
) -> None:
    target = tmp_path / f"traces.{format_name}"
    flags = ["--format", format_name, "--output", str(target)]
    command = [sys.executable, "-m", "spanwise", "export", *flags, str(damaged.data_dir)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "is damaged at byte" in done.stderr) == (1, True), done.stderr
    assert list(tmp_path.iterdir()) == []
