"""The fixture that fills a store, in the benchmark of the guide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING

from support.documents import blocks_of
from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

(PRINTED,) = (block.text for block in blocks_of(ROOT / "docs" / "how-to" / "compare.md") if block.language == "python")


def run(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs the benchmark in a folder of its own, as somebody else would."""
    command = [sys.executable, "-m", "pytest", "test_question.py", "-p", "no:cacheprovider", *flags]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_the_question_of_the_guide_is_measured_saved_and_compared(tmp_path: Path) -> None:
    smaller = PRINTED.replace("20_000", "2_000").replace(
        "600 < page.total_count < 1_400", "60 < page.total_count < 140"
    )
    assert smaller.count("2_000") == smaller.count("< 140") == 1
    (tmp_path / "test_question.py").write_text(smaller, "utf-8")
    saved = run(tmp_path, "--benchmark-only", "--benchmark-save=before", "--benchmark-max-time=0.1")
    assert saved.returncode == 0, saved.stdout
    (kept,) = tmp_path.glob(".benchmarks/*/0001_before.json")
    assert json.loads(kept.read_text("utf-8"))["benchmarks"][0]["stats"]["median"] > 0
    compared = run(tmp_path, "--benchmark-only", "--benchmark-compare=0001", "--benchmark-max-time=0.1")
    assert compared.returncode == 0, compared.stdout
    assert "0001_before" in compared.stdout


def test_a_store_is_filled_once_for_a_shape_and_a_seed(tmp_path: Path) -> None:
    (tmp_path / "test_question.py").write_text(
        """import json

pytest_plugins = ["spanwise.bench.fixtures"]


def test_stores(filled_store):
    small = filled_store(1_000)
    assert filled_store(1_000) is small
    real = filled_store(1_000, documents="real", seed=8)
    stats = [json.loads(store.stats()) for store in (small, real)]
    assert [each["traces"] for each in stats] == [1_000, 1_000]
    assert stats[1]["segment_bytes"] > 3 * stats[0]["segment_bytes"]
    assert not any(each["segments_without_texts"] for each in stats)
""",
        "utf-8",
    )
    ran = run(tmp_path)
    assert ran.returncode == 0, ran.stdout
