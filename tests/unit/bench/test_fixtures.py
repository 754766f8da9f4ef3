"""The fixture that fills a store, in the benchmark of the guide."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from support.documents import blocks_of
from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

(PRINTED,) = (block.text for block in blocks_of(ROOT / "docs" / "how-to" / "compare.md") if block.language == "python")


def run(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    """Runs the benchmark in its own folder, as a user would."""
    command = [sys.executable, "-m", "pytest", "test_question.py", "-p", "no:cacheprovider", *flags]
    return subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True, check=False)


def _environment() -> dict[str, str]:
    """Returns the environment without the variables of parallel pytest, under which it refuses to measure."""
    return {name: value for name, value in os.environ.items() if not name.startswith(("PYTEST", "COV"))}


def test_the_question_of_the_guide_is_measured_saved_and_compared(tmp_path: Path) -> None:
    smaller = PRINTED.replace("20_000", "2_000").replace("600 < page.total < 1_400", "60 < page.total < 140")
    assert smaller.count("2_000") == smaller.count("< 140") == 1
    (tmp_path / "test_question.py").write_text(smaller, "utf-8")
    saved = run(tmp_path, "--benchmark-only", "--benchmark-save=before", "--benchmark-max-time=0.1")
    assert saved.returncode == 0, saved.stdout
    (kept,) = tmp_path.glob(".benchmarks/*/0001_before.json")
    before = json.loads(kept.read_text("utf-8"))
    stats = before["benchmarks"][0]["stats"]
    assert stats["median"] > 0
    for factor, is_slower in ((1_000, False), (1 / 1_000, True)):
        kept.write_text(
            json.dumps(before | {"benchmarks": [before["benchmarks"][0] | {"stats": _scaled(stats, factor)}]})
        )
        limit = ("--benchmark-compare=0001", "--benchmark-compare-fail=median:10%", "--benchmark-max-time=0.1")
        compared = run(tmp_path, "--benchmark-only", *limit)
        assert "0001_before" in compared.stdout
        assert compared.returncode == is_slower, compared.stdout
        assert ("has failed PercentageRegressionCheck" in compared.stdout + compared.stderr) == is_slower


def _scaled(stats: dict[str, Any], factor: float) -> dict[str, Any]:
    """Returns the figures of a run that took `factor` times as long."""
    return {name: value * factor if isinstance(value, float) else value for name, value in stats.items()}


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


def test_the_benchmarks_of_the_service_can_be_collected() -> None:
    command = [sys.executable, "-m", "pytest", "benches/service", "--collect-only", "--quiet", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=ROOT, env=_environment(), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    files = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert files == {f"benches/service/{path.name}" for path in (ROOT / "benches" / "service").glob("test_*.py")}
