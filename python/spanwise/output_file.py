"""Output files of commands. Regular files are replaced once complete; other files are written directly."""

from __future__ import annotations

import errno
import os
import re
import socket
import stat
from contextlib import contextmanager
from secrets import token_hex
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_STANDARD_OUTPUT = 1
_MAX_LINKS = 40
"""The maximum number of links that Linux follows."""


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Opens a file to write to.

    A regular file is written under another name beside it, and renamed when the block ends without an error. It keeps
    its mode. If `path` is a link, its target is replaced. Other files are written directly: a device, a FIFO, a
    listening socket, or an open descriptor such as `/dev/stdout`.

    Raises:
        OSError: it cannot be written.
    """
    if (descriptor := _descriptor_of(path)) is not None:
        with os.fdopen(os.dup(descriptor), "wb") as file:
            yield file
        return
    mode = _mode_of(path)
    if mode is None or stat.S_ISREG(mode):
        with _replaced(path.resolve(), mode) as file:
            yield file
    elif stat.S_ISSOCK(mode):
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(str(path))
            with connection.makefile("wb") as file:
                yield file
    else:
        # Opened without create and truncate flags, because Linux refuses them for a FIFO of another user.
        with os.fdopen(os.open(path, os.O_WRONLY), "wb") as file:
            yield file


def write_output(path: Path, content: bytes) -> None:
    """Writes a whole file; see `open_output`.

    Raises:
        OSError: it cannot be written.
    """
    with open_output(path) as file:
        file.write(content)


def is_standard_output(path: Path) -> bool:
    """Returns whether a path is the standard output of this process, such as `/dev/stdout`."""
    return _descriptor_of(path) == _STANDARD_OUTPUT


@contextmanager
def _replaced(target: Path, mode: int | None) -> Iterator[BinaryIO]:
    if mode is not None and not os.access(target, os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(target))
    staged = target.with_name(f".{token_hex(8)}.unfinished")
    try:
        with staged.open("xb") as file:
            if mode is not None:
                staged.chmod(stat.S_IMODE(mode))
            yield file
            file.flush()
            os.fsync(file.fileno())
        staged.replace(target)
    finally:
        staged.unlink(missing_ok=True)


def _mode_of(path: Path) -> int | None:
    """Returns the mode of a file after following links; None if it does not exist."""
    try:
        return path.stat().st_mode
    except FileNotFoundError:
        return None


def _descriptor_of(path: Path) -> int | None:
    """Returns the open descriptor of this process that a path names; None if it names another file.

    Opening such a path again fails for a socket, and truncates a file that a shell appends to.
    """
    descriptor = re.compile(rf"(?:/dev/fd|/proc/(?:self|{os.getpid()})/fd)/(\d+)")
    target = path.absolute()
    for _ in range(_MAX_LINKS):
        if found := descriptor.fullmatch(str(target)):
            return int(found[1])
        if not target.is_symlink():
            return None
        target = target.parent / target.readlink()
    return None
