"""The distributions as upload checkers see them: metadata, contents, and the CPython API that the module uses."""

from __future__ import annotations

import subprocess
import sys
from email.parser import BytesParser
from pathlib import Path
from zipfile import ZipFile

import pytest

FOLDER = Path(__file__).parents[2] / "target" / "wheels"
WHEELS = sorted(FOLDER.glob("spanwise-*.whl"))
SOURCES = sorted(FOLDER.glob("spanwise-*.tar.gz"))


@pytest.mark.parametrize(
    "command",
    [
        ["twine", "check", "--strict", *WHEELS, *SOURCES],
        ["check_wheel_contents", *WHEELS],
        ["abi3audit", "--strict", "--verbose", *WHEELS],
    ],
    ids=lambda command: str(command[0]),
)
def test_a_checker_finds_nothing(command: list[str | Path]) -> None:
    assert WHEELS, "expected a wheel under target/wheels; `make wheel` builds one"
    assert SOURCES, "expected a source distribution under target/wheels; `make wheel` builds one"
    done = subprocess.run([sys.executable, "-m", *command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_metadata_is_that_of_a_package() -> None:
    with ZipFile(WHEELS[-1]) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = BytesParser().parsebytes(archive.read(name))
    assert metadata["Description-Content-Type"].startswith("text/markdown")
    assert "# Spanwise" in str(metadata.get_payload())
    assert metadata["License-Expression"] == "Apache-2.0"
    assert metadata["Keywords"]
    assert not any(each.startswith("Private") for each in metadata.get_all("Classifier", []))
