"""The folder of a Ray that is started for this process: for its owner alone, and removed even after a kill.

Ray makes its own folder writable for everybody, so it is inside one that nobody else may enter. A lock says whether the
process that created it still runs: the kernel releases it with the process, whatever ends that.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from pathlib import Path

PREFIX = "spanwise-ray-"
_LOCK = "owner"
_RAY = "r"
"""The name of Ray's folder. Sockets are in it, whose paths must be short."""


class LocalFolder:
    """A temporary folder of this process.

    Attributes:
        path: the folder, of mode 0700.
        for_ray: the folder in it that Ray may use and change.
    """

    def __init__(self) -> None:
        """Creates the folder, and removes the folders of processes that are gone.

        Raises:
            OSError: it cannot be created.
        """
        _remove_abandoned(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.for_ray = self.path / _RAY
        self.for_ray.mkdir()
        unnamed = self.path / f"{_LOCK}.new"
        self._lock = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unnamed.rename(self.path / _LOCK)  # with this name it is locked from the beginning

    def remove(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_abandoned(parent: Path) -> None:
    """Removes folders that other processes of this user created here, and that no process owns any more."""
    for path in parent.glob(f"{PREFIX}*"):
        try:
            found = path.lstat()
            if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid():
                continue
            lock = os.open(path / _LOCK, os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW)
        except OSError:  # another process removed it, or it has no lock and so no known owner
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            continue
        else:
            shutil.rmtree(path, ignore_errors=True)
        finally:
            os.close(lock)
