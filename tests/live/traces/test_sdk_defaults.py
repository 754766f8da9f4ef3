"""Exporters of other languages deliver with their defaults; only the endpoint is set.

Their newest releases are installed into `target/tools`, so these tests need the registries of their languages.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import TYPE_CHECKING, NamedTuple

import pytest

from support.paths import ROOT, TESTS
from support.servers import skip_missing
from support.services.process import RunningService, free_port

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

EXPORTERS = TESTS / "support" / "exporters"
TOOLS = ROOT / "target" / "tools" / "exporters"
INSTALL_SECONDS = 900


class Language(NamedTuple):
    """The installation and execution of a language's exporter.

    Attributes:
        program: the program that the machine must have.
        install: the commands that install the exporter, in its folder.
        run: the command that runs it, without the protocol and the name of the span.
        protocols: the protocols that it supports.
    """

    program: str
    install: tuple[str, ...]
    run: str
    protocols: tuple[str, ...]


LANGUAGES = {
    "node": Language(
        "npm",
        ("npm install --no-audit --no-fund --no-package-lock",),
        "node program.js",
        ("grpc", "http/protobuf", "http/json"),
    ),
    "go": Language(
        "go",
        (
            "test -f go.mod || go mod init exporter",
            (
                "go get go.opentelemetry.io/otel/sdk@latest "
                "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc@latest "
                "go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp@latest"
            ),
            "go mod tidy",
            "go build -o exporter .",
        ),
        "./exporter",
        ("grpc", "http/protobuf"),
    ),
    "java": Language(
        "mvn",
        (
            "mvn --quiet --batch-mode dependency:copy-dependencies -DoutputDirectory=jars",
            "javac -cp 'jars/*' Program.java",
        ),
        "java -cp 'jars/*:.' Program",
        ("grpc", "http/protobuf"),
    ),
}
CASES = [(name, protocol) for name, language in LANGUAGES.items() for protocol in language.protocols]


class Ports(NamedTuple):
    """A service and its OTLP ports."""

    service: RunningService
    grpc: int
    http: int

    def endpoint(self, protocol: str) -> str:
        """Returns the address for a protocol."""
        return f"http://127.0.0.1:{self.grpc if protocol == 'grpc' else self.http}"


@pytest.fixture(scope="module")
def receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ports]:
    grpc, http = free_port(), free_port()
    flags = ("--otlp-grpc-port", str(grpc), "--otlp-http-port", str(http))
    with RunningService(tmp_path_factory.mktemp("defaults") / "data", *flags) as service:
        yield Ports(service, grpc, http)
        assert service.stop() == 0


def shell(command: str, folder: Path, seconds: float, **variables: str) -> None:
    """Runs a command. Of OpenTelemetry's settings, it gets only `variables`."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")} | variables
    done = subprocess.run(
        ["/bin/sh", "-e", "-c", command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=seconds,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def installed(name: str) -> Path:
    """Returns the folder of an exporter, and installs it if necessary."""
    language, folder = LANGUAGES[name], TOOLS / name
    if shutil.which(language.program) is None:
        skip_missing(f"`{language.program}` is not installed")
    shutil.copytree(EXPORTERS / name, folder, dirs_exist_ok=True)
    if not (folder / ".installed").exists():
        for command in language.install:
            shell(command, folder, INSTALL_SECONDS)
        (folder / ".installed").touch()
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(("name", "protocol"), CASES, ids=[" over ".join(case) for case in CASES])
def test_an_exporter_delivers(name: str, protocol: str, receiver: Ports) -> None:
    span = f"from {name} over {protocol}"
    command = f"{LANGUAGES[name].run} {protocol} '{span}'"
    shell(command, installed(name), 120, OTEL_EXPORTER_OTLP_ENDPOINT=receiver.endpoint(protocol))
    assert len(receiver.service.items(filter={"op": "EQ", "key": "name", "value": span})) == 1


def test_every_exporter_has_its_sources() -> None:
    assert {folder.name for folder in EXPORTERS.iterdir()} == set(LANGUAGES)
