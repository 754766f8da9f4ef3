"""Information about the machine, and resource usage of processes; Linux only, from `/proc`."""

from __future__ import annotations

import ctypes
import os
import platform
import time
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Collection

_MEBIBYTE = 1 << 20
_PROBE_BYTES = 256 * _MEBIBYTE
_MADV_POPULATE_READ = 22
NOT_INSTALLED = "not installed"
"""The version of a package that is not there."""


class Circumstances(msgspec.Struct, frozen=True):
    """When and on which machine a stage was measured.

    Attributes:
        when: the end of the stage, in ISO 8601, UTC.
        load: the load average of the minute before the stage started.
        processor: the name of the processor.
        cores: the number of cores.
        memory_bytes: the memory of the machine.
        system: the kernel and its version.
        versions: the versions of Python and of the packages involved.
    """

    when: str
    load: float
    processor: str
    cores: int
    memory_bytes: int
    system: str
    versions: dict[str, str]


def circumstances(load: float) -> Circumstances:
    """Returns the circumstances now; `load` was read before the stage started."""
    packages = ("spanwise", "duckdb", "polars", "datafusion", "chdb", "tantivy", "pyarrow", "numpy")
    return Circumstances(
        when=datetime.now(UTC).isoformat(timespec="seconds"),
        load=round(load, 2),
        processor=_processor(),
        cores=os.cpu_count() or 1,
        memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        system=f"{platform.system()} {platform.release()}",
        versions={"Python": platform.python_version()} | {package: _version(package) for package in packages},
    )


def is_readable() -> bool:
    """Returns whether this system has `/proc`."""
    return Path("/proc/self/status").exists()


def load() -> float:
    """Returns the load average of the last minute."""
    return os.getloadavg()[0]


def anonymous_bytes(process: int | None = None) -> int:
    """Returns the private memory of a process, `RssAnon`; by default of this process."""
    return _status_bytes(process, "RssAnon")


def file_bytes(process: int) -> int:
    """Returns the resident memory of a process that is mapped from files, `RssFile`."""
    return _status_bytes(process, "RssFile")


def peak_bytes(process: int) -> int:
    """Returns the most memory that a process ever had resident, private and mapped, `VmHWM`."""
    return _status_bytes(process, "VmHWM")


def written_bytes(process: int) -> int:
    """Returns how many bytes a process has written to disk so far."""
    lines = Path(f"/proc/{process}/io").read_text("ascii").splitlines()
    return int(dict(line.split(": ") for line in lines)["write_bytes"])


def disk_megabytes_a_second(folder: Path) -> float:
    """Returns the throughput of writing one large file to `folder`, including an fsync, in MB/s."""
    probe = folder / "disk-probe"
    # Random bytes, because file systems and disks may compress zeros.
    block = os.urandom(_MEBIBYTE)
    try:
        begun = time.perf_counter()
        with probe.open("wb") as file:
            for _ in range(_PROBE_BYTES // _MEBIBYTE):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
        return _PROBE_BYTES / 1e6 / (time.perf_counter() - begun)
    finally:
        probe.unlink(missing_ok=True)


def read_into_memory(file: Path) -> None:
    """Reads a file once, so that the system has it in memory as long as there is room."""
    with file.open("rb", buffering=0) as opened:
        while opened.read(_MEBIBYTE):
            pass


def map_into_memory(files: Collection[Path]) -> None:
    """Maps every page of the mappings that this process has of some files, as if it had touched each of them.

    What the system no longer has of the files in memory is read. See `MADV_POPULATE_READ` in `madvise(2)`.

    Raises:
        OSError: the system refuses; Linux before 5.14 does not know how.
    """
    # Not at the beginning: some systems have no such library, and are told so.
    library = ctypes.CDLL(None, use_errno=True)
    names = {str(file.resolve()) for file in files}
    for line in Path("/proc/self/maps").read_text("utf-8").splitlines():
        bounds, *_, name = line.split(maxsplit=5)
        if name in names:
            begin, end = (int(bound, 16) for bound in bounds.split("-"))
            if library.madvise(ctypes.c_void_p(begin), ctypes.c_size_t(end - begin), _MADV_POPULATE_READ):
                code = ctypes.get_errno()
                raise OSError(code, os.strerror(code), name)


def folder_bytes(folder: Path) -> int:
    """Returns the total size of the files below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _status_bytes(process: int | None, field: str) -> int:
    lines = Path(f"/proc/{process or 'self'}/status").read_text("ascii").splitlines()
    (line,) = (line for line in lines if line.startswith(f"{field}:"))
    return int(line.split()[1]) * 1024


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
    names = (line.partition(": ")[2] for line in lines if line.startswith("model name"))
    return next(names, platform.machine())


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return NOT_INSTALLED
