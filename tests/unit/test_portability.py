"""The package on Windows: all of it can be imported, and it reports that the service is not supported."""

from __future__ import annotations

import subprocess
import sys

from support.paths import SOURCES

# Other packages are imported first, so that only this package sees the other system.
PROGRAM = """
import os, pkgutil, sys
from importlib import import_module
from pathlib import Path

import asyncio, granian, psycopg, spanwise, starlette.testclient, uvloop
modules = ["spanwise"] + [each.name for each in pkgutil.walk_packages(spanwise.__path__, "spanwise.")]
modules = [name for name in modules if not name.startswith("spanwise.bench") and not name.endswith("__main__")]
for name in modules:
    import_module(name)
for name in modules:
    if name != "spanwise._engine":
        sys.modules.pop(name, None)
sys.platform = "win32"
del os.sysconf
for name in ("fcntl", "resource", "uvloop", "pwd", "grp"):
    sys.modules[name] = None
for name in modules:
    import_module(name)
batch = __import__("pyarrow").record_batch({"name": ["a", "b"]})
filter = import_module("spanwise").Filter.compile(b'{"op": "EQ", "key": "name", "value": "a"}')
assert __import__("pyarrow").array(filter.mask(batch)).to_pylist() == [True, False]
try:
    import_module("spanwise.cli.serve").run(None)
except import_module("spanwise.errors").ConfigurationError as error:
    print(error)
"""


def test_it_is_imported_without_what_windows_lacks() -> None:
    command = [sys.executable, "-W", "ignore", "-c", PROGRAM]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=SOURCES.parent)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("the service runs on Linux and macOS")
