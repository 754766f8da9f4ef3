"""The wheel in a new environment without Rust: its tags, extras, user interface and demo."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tarfile
import time
import urllib.request
import venv
import zipfile
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).parents[2]
TRACES = 300


def newest_wheel() -> Path:
    wheels = sorted((ROOT / "target" / "wheels").glob("spanwise-*.whl"), key=lambda path: path.stat().st_mtime)
    assert wheels, "expected a wheel under target/wheels; `make wheel` builds one"
    return wheels[-1]


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A new virtual environment with the wheel and without this checkout."""
    home = tmp_path_factory.mktemp("wheel") / "environment"
    venv.create(home, with_pip=True)
    pip = [str(home / "bin" / "python"), "-m", "pip", "install", "--quiet", str(newest_wheel())]
    subprocess.run(pip, check=True, env=without_rust(), cwd=home)
    return home


def without_rust() -> dict[str, str]:
    folders = os.environ["PATH"].split(os.pathsep)
    kept = [folder for folder in folders if not (Path(folder) / "cargo").exists()]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("SPANWISE_")}
    environment.pop("PYTHONPATH", None)
    return environment | {"PATH": os.pathsep.join(kept)}


def test_the_tag_is_abi3_and_manylinux() -> None:
    name = newest_wheel().name
    assert "-cp311-abi3-manylinux_" in name, name


def members_of_wheel() -> dict[str, bytes]:
    with zipfile.ZipFile(newest_wheel()) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def members_of_source_distribution() -> dict[str, bytes]:
    """Returns the files of the source distribution beside the wheel, without their top folder."""
    (path,) = newest_wheel().parent.glob("spanwise-*.tar.gz")
    with tarfile.open(path) as archive:
        files = {member.name: archive.extractfile(member) for member in archive.getmembers() if member.isfile()}
        return {name.partition("/")[2]: file.read() for name, file in files.items() if file is not None}


@pytest.mark.parametrize(
    ("members", "package"),
    [(members_of_wheel, "spanwise"), (members_of_source_distribution, "python/spanwise")],
    ids=["wheel", "source distribution"],
)
def test_the_user_interface_is_inside(members: Callable[[], dict[str, bytes]], package: str) -> None:
    """The build is committed, so installation needs no Node."""
    found = members()
    folder = f"{package}/ui/dist/"
    inside = {name.removeprefix(folder): content for name, content in found.items() if name.startswith(folder)}
    manifest = inside.pop("manifest.json")
    assert manifest == (ROOT / "python" / "spanwise" / "ui" / "dist" / "manifest.json").read_bytes()
    listed = {entry["path"]: (entry["bytes"], entry["sha256"]) for entry in json.loads(manifest)["files"]}
    assert "index.html" in listed
    assert {path: (len(content), sha256(content).hexdigest()) for path, content in inside.items()} == listed
    assert not any("node_modules" in name for name in found)


def test_a_missing_extra_is_named(environment: Path, tmp_path: Path) -> None:
    command = [str(environment / "bin" / "spanwise"), "bench"]
    ended = subprocess.run(command, cwd=tmp_path, env=without_rust(), capture_output=True, text=True, check=False)
    assert ended.returncode == 1
    assert "pip install 'spanwise[bench]'" in ended.stderr


def test_the_demo_serves_a_search(environment: Path, tmp_path: Path) -> None:
    port = free_port()
    command = [str(environment / "bin" / "spanwise"), "demo", "--port", str(port), "--traces", str(TRACES)]
    command += ["--data-dir", str(tmp_path / "demo"), "--no-open"]
    variables = without_rust() | {"SPANWISE_OTLP_GRPC_PORT": "0", "SPANWISE_OTLP_HTTP_PORT": "0"}
    server = subprocess.Popen(command, cwd=tmp_path, env=variables, stdout=sys.stderr)
    try:
        wait_until_ready(server, port)
        body = json.dumps({"filter": {"op": "EQ", "key": "status", "value": "ERROR"}}).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{port}/traces/search", body, {"Content-Type": "application/json"}
        )
        with urllib.request.urlopen(request, timeout=30) as response:
            page = json.load(response)
        assert page["meta"]["total_count"] > 0
        assert all(trace["status"] == "ERROR" and trace["tree"] for trace in page["data"])
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/ui", timeout=30) as response:
            assert b"./ui/assets/" in response.read()
    finally:
        server.send_signal(signal.SIGTERM)
        code = server.wait(timeout=30)
    assert code == 0


def wait_until_ready(server: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        assert server.poll() is None, f"the demo ended with {server.returncode} before it was ready"
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/health?ready=true", timeout=5) as response:
                if response.status == 200:
                    return
        except OSError:
            time.sleep(0.2)
    pytest.fail("the demo was not ready within two minutes")
