"""Programs under `opentelemetry-instrument` deliver with only the variables in docs/otlp.md."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.paths import ROOT
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PAGE = (ROOT / "docs" / "otlp.md").read_text("utf-8")
BLOCKS = [block for block in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "opentelemetry-instrument" in block]
PROGRAM = """
import logging
from opentelemetry import metrics, trace

with trace.get_tracer("test").start_as_current_span("instrumented by " + {name!r}):
    logging.getLogger("test").warning("a log record of the span")
metrics.get_meter("test").create_counter("calls").add(1)
"""


class Receiver(RunningService):
    """A service on free ports for both protocols, by the port numbers of the page."""

    ports: dict[str, int]


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    ports = {"4317": free_port(), "4318": free_port()}
    flags = ("--otlp-grpc-port", str(ports["4317"]), "--otlp-http-port", str(ports["4318"]))
    with Receiver(tmp_path_factory.mktemp("instrumented") / "data", *flags) as service:
        service.ports = ports
        yield service
        assert service.stop() == 0


def run_as_printed(block: str, receiver: Receiver, folder: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Runs a program as a block of the page prints it, with the ports of `receiver`."""
    (folder / "program.py").write_text(PROGRAM.format(name=name))
    lines = [line for line in block.splitlines() if not line.startswith("pip install")]
    script = re.sub(r"127\.0\.0\.1:(\d+)", lambda found: f"127.0.0.1:{receiver.ports[found[1]]}", "\n".join(lines))
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    environment["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), environment["PATH"]])
    return subprocess.run(
        ["/bin/sh", "-e", "-c", script],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_both_protocols_are_printed() -> None:
    assert [re.findall(r"127\.0\.0\.1:(\d+)", block) for block in BLOCKS] == [["4317"], ["4318"]]


@pytest.mark.parametrize("block", BLOCKS, ids=["gRPC", "HTTP"])
def test_the_spans_of_a_program_arrive(
    block: str, receiver: Receiver, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    name = request.node.name
    done = run_as_printed(block, receiver, tmp_path, name)
    assert done.returncode == 0, done.stderr
    found = receiver.items(filter={"op": "EQ", "key": "name", "value": f"instrumented by {name}"})
    assert len(found) == 1, done.stderr


@pytest.mark.parametrize("block", BLOCKS, ids=["gRPC", "HTTP"])
def test_no_exporter_complains(block: str, receiver: Receiver, tmp_path: Path) -> None:
    """The exporter also sends logs and metrics by default."""
    done = run_as_printed(block, receiver, tmp_path, "silent")
    assert done.stderr == "a log record of the span\n"
