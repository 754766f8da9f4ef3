"""Output files of commands: regular files are replaced when complete, links stay, and other files are written to."""

from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
import threading
from pathlib import Path
from typing import NoReturn

import pytest

from spanwise.output_file import is_standard_output, open_output, write_output


class StoppedError(Exception):
    """Ends a block early."""


def stop(path: Path) -> NoReturn:
    with open_output(path) as file:
        file.write(b"half")
        raise StoppedError


def test_a_new_file_has_the_usual_mode(tmp_path: Path) -> None:
    (tmp_path / "usual").touch()
    write_output(tmp_path / "new", b"whole")
    assert (tmp_path / "new").read_bytes() == b"whole"
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "usual").stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["new", "usual"]


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_mode(tmp_path: Path, mode: int) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"a longer text before")
    target.chmod(mode)
    write_output(target, b"whole")
    assert (target.read_bytes(), stat.S_IMODE(target.stat().st_mode)) == (b"whole", mode)


def test_a_block_that_fails_changes_nothing(tmp_path: Path) -> None:
    target = tmp_path / "file"
    for before in (False, True):
        if before:
            target.write_bytes(b"before")
        with pytest.raises(StoppedError):
            stop(target)
        assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"before"] * before


def test_readers_see_the_file_before_or_after(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"before")
    with target.open("rb") as reader, open_output(target) as file:
        file.write(b"after")
        file.flush()
        assert target.read_bytes() == b"before"
        assert reader.read() == b"before"
    assert target.read_bytes() == b"after"


@pytest.mark.parametrize("is_there", [True, False])
@pytest.mark.parametrize("is_relative", [True, False])
def test_a_link_stays_and_the_file_it_points_at_is_written(
    tmp_path: Path, *, is_there: bool, is_relative: bool
) -> None:
    real, first, second = tmp_path / "real" / "file", tmp_path / "first", tmp_path / "links" / "second"
    real.parent.mkdir()
    second.parent.mkdir()
    if is_there:
        real.write_bytes(b"before")
        real.chmod(0o640)
    first.symlink_to("real/file" if is_relative else real)
    second.symlink_to("../first" if is_relative else first)
    write_output(second, b"whole")
    assert (first.is_symlink(), second.is_symlink()) == (True, True)
    assert (real.is_symlink(), real.read_bytes()) == (False, b"whole")
    assert not is_there or stat.S_IMODE(real.stat().st_mode) == 0o640
    assert [path.name for path in real.parent.iterdir()] == ["file"]


def test_a_device_stays_one(tmp_path: Path) -> None:
    link = tmp_path / "null"
    link.symlink_to("/dev/null")
    for device in (Path("/dev/null"), link):
        write_output(device, b"whole")
        assert stat.S_ISCHR(device.stat().st_mode)
    assert [(path, path.is_symlink()) for path in tmp_path.iterdir()] == [(link, True)]


@pytest.mark.parametrize("is_linked", [True, False])
def test_the_reader_of_a_fifo_gets_everything(tmp_path: Path, *, is_linked: bool) -> None:
    fifo, target = tmp_path / "fifo", tmp_path / "link" if is_linked else tmp_path / "fifo"
    os.mkfifo(fifo)
    if is_linked:
        target.symlink_to("fifo")
    content = b"x" * 300_000
    writer = threading.Thread(target=write_output, args=(target, content))
    writer.start()
    assert fifo.read_bytes() == content
    writer.join()
    assert stat.S_ISFIFO(fifo.stat().st_mode)


def test_a_listening_socket_gets_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # socket paths must be short
    content = b"x" * 300_000
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind("socket")
        listener.listen()
        writer = threading.Thread(target=write_output, args=(tmp_path / "socket", content))
        writer.start()
        connection, _ = listener.accept()
        with connection, connection.makefile("rb") as received:
            assert received.read() == content
        writer.join()
        assert stat.S_ISSOCK((tmp_path / "socket").stat().st_mode)


def test_what_cannot_be_written_is_an_error_and_stays(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    (tmp_path / "nowhere").symlink_to("missing/file")
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(os.path.relpath(tmp_path / "socket"))
    before = sorted(tmp_path.iterdir())
    for name in ("folder", "loop", "nowhere", "missing/file", "socket"):
        with pytest.raises(OSError, match=r"^\[Errno "):
            write_output(tmp_path / name, b"whole")
        assert sorted(tmp_path.iterdir()) == before


@pytest.mark.skipif(os.access("/proc/1/mem", os.R_OK), reason="root may write to every file")
def test_a_file_that_is_read_only_is_not_replaced(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"before")
    target.chmod(0o444)
    with pytest.raises(PermissionError):
        write_output(target, b"whole")
    assert target.read_bytes() == b"before"


PROGRAM = """
import sys
from pathlib import Path
from spanwise.output_file import is_standard_output, write_output
write_output(Path(sys.argv[1]), b"whole")
sys.exit(0 if is_standard_output(Path(sys.argv[1])) == (sys.argv[2] == "1") else 3)
"""


def stdout_names(folder: Path) -> dict[str, str]:
    (folder / "out").symlink_to("/dev/stdout")
    return {"device": "/dev/stdout", "descriptor": "/dev/fd/1", "proc": "/proc/self/fd/1", "link": str(folder / "out")}


@pytest.mark.parametrize("name", ["device", "descriptor", "proc", "link"])
def test_standard_output_is_written_to(tmp_path: Path, name: str) -> None:
    target = stdout_names(tmp_path)[name]
    command = [sys.executable, "-c", PROGRAM, target, "1"]
    piped = subprocess.run(command, capture_output=True, check=True, timeout=60)
    assert piped.stdout == b"whole"
    appended = tmp_path / "appended"
    appended.write_bytes(b"before ")
    with appended.open("ab") as file:
        subprocess.run(command, stdout=file, check=True, timeout=60)
    assert appended.read_bytes() == b"before whole"
    ours, theirs = socket.socketpair()
    with ours, theirs:
        subprocess.run(command, stdout=theirs.fileno(), check=True, timeout=60)
        assert ours.recv(100) == b"whole"


def test_another_descriptor_is_written_to_and_is_not_standard_output(tmp_path: Path) -> None:
    with (tmp_path / "file").open("wb") as file:
        number = file.fileno()
        command = [sys.executable, "-c", PROGRAM, f"/dev/fd/{number}", "0"]
        subprocess.run(command, pass_fds=[number], check=True, timeout=60)
    assert (tmp_path / "file").read_bytes() == b"whole"
    assert not is_standard_output(tmp_path / "file")
    with pytest.raises(OSError, match="Bad file descriptor"):
        write_output(Path("/dev/fd/987"), b"whole")
