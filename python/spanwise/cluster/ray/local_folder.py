"""The folder of a Ray that runs only for this process. Only its owner may use it, and it is removed even after a kill.

Ray makes its own folder writable for everyone, so it is inside a private folder. A lock shows whether the process that
created it still runs. The kernel releases the lock however the process ends.
"""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from pathlib import Path

if sys.platform != "win32":
    import fcntl

PREFIX = "spanwise-ray-"
_LOCK = "owner"
_RAY = "r"
"""The name of Ray's folder. It contains sockets, whose paths must be short."""


class LocalFolder:
    """A temporary folder of this process.

    Attributes:
        path: the folder, with mode 0700.
        for_ray: the folder in it that Ray may use and change.
    """

    def __init__(self) -> None:
        """Creates the folder, and removes the folders of ended processes.

        Raises:
            OSError: the folder cannot be created.
        """
        _remove_abandoned(Path(tempfile.gettempdir()))
        self.path = Path(tempfile.mkdtemp(prefix=PREFIX))
        self.for_ray = self.path / _RAY
        self.for_ray.mkdir()
        unnamed = self.path / f"{_LOCK}.new"
        self._lock = os.open(unnamed, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, 0o600)
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        unnamed.rename(self.path / _LOCK)  # the lock exists under this name from the beginning

    def remove(self) -> None:
        """Removes the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        os.close(self._lock)


def _remove_abandoned(parent: Path) -> None:
    """Removes folders that ended processes of this user left behind."""
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
