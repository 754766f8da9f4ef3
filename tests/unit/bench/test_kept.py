"""A report keeps figures that are not measured again, and the documentation page shows the same figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
import pytest

from spanwise.bench.data.shape import Shape
from spanwise.bench.machine import Circumstances, circumstances
from spanwise.bench.report import BY_HAND, write_report
from spanwise.bench.report.figures import AskedFigures, DataSet, Figure
from spanwise.bench.report.kept import FIGURES, merged
from spanwise.bench.report.page import page
from spanwise.bench.report.readme import short_table
from spanwise.bench.results import Built, Opened, Results
from spanwise.bench.stages import STAGES
from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = Shape(1_000, "small", 7)
OLD = msgspec.structs.replace(circumstances(0), when="2026-11-01T00:00:00+00:00")
NEW = msgspec.structs.replace(circumstances(0), when="2026-11-20T00:00:00+00:00")


def data_set(when: Circumstances, *stages: str, traces: int = 1_000) -> DataSet:
    made = dict.fromkeys(("build", *stages), when)
    rates = {"durable_spans_a_second": 5.0} if "ingest" in stages else {}
    opened = {"ready_seconds": 1.0} if "open" in stages else {}
    return DataSet(traces, "small", 7, made, store={"spans": 1.0}, ingest=rates, open=opened)


def test_every_figure_belongs_to_one_stage() -> None:
    assert tuple(FIGURES) == STAGES
    figures = [name for names in FIGURES.values() for name in names]
    about = ["traces", "documents", "seed", "stages", "command"]
    assert sorted([*about, *figures]) == sorted(field.name for field in msgspec.structs.fields(DataSet))


def test_what_is_not_measured_anew_stays_as_a_section_of_its_own() -> None:
    kept, measured = data_set(OLD, "ingest", "open"), data_set(NEW, "open")
    left, new = merged([kept], [measured])
    assert new == measured
    assert left.stages.keys() == {"build", "ingest"}
    assert (left.ingest, left.open, left.store) == (kept.ingest, {}, kept.store)


def test_a_data_set_of_which_nothing_is_left_leaves() -> None:
    measured = data_set(NEW, "open", "ingest")
    assert merged([data_set(OLD, "open")], [measured]) == [measured]


def test_another_data_set_stays_and_all_are_ordered_by_size() -> None:
    small, large, middle = (data_set(OLD, "open", traces=traces) for traces in (100, 10_000, 1_000))
    assert merged([large, small], [middle]) == [small, middle, large]


def test_a_report_is_written_again_from_its_own_figures(tmp_path: Path) -> None:
    report = tmp_path / "report.md"
    built = Built(1.0, 1.0, 1_000, 1_000, 1_000, OLD)
    measured = Results(SHAPE, "spanwise bench", built, open=Opened([2.0], [1.0], 5_000_000, 6_000_000, OLD, 7_000_000))
    write_report([measured], report, None)
    written = report.read_text("utf-8")
    assert "VmHWM" in written
    assert "with an empty store" not in written
    assert "| `spanwise serve` to ready, median | 2.00 s |" in written
    write_report([], report, None)
    assert report.read_text("utf-8") == written


def test_two_stores_of_one_shape_have_titles_of_their_own() -> None:
    text = page([DataSet(1_000, "small", 7, {"build": when}) for when in (OLD, NEW)], "plot.svg", "data.json")
    titles = [line for line in text.splitlines() if line.startswith("## 1,000")]
    assert titles == [f"## 1,000 traces, small documents, built on 2026-11-{day}" for day in ("01", "20")]


def test_a_package_has_its_version_if_one_stage_had_it() -> None:
    with_chdb, without = (
        msgspec.structs.replace(NEW, versions={"Python": "3.11", "chdb": chdb, "tantivy": "not installed"})
        for chdb in ("4.4.0", "not installed")
    )
    for stages in ((with_chdb, without), (without, with_chdb)):
        made = dict(zip(("questions", "masks"), stages, strict=True))
        text = page([DataSet(1_000, "small", 7, made)], "plot.svg", "data.json")
        assert "Python 3.11, chdb 4.4.0, tantivy not installed." in " ".join(text.split())


@pytest.mark.parametrize(
    ("documents", "size"),
    [
        ("none", "9,000 traces without documents"),
        ("small", "9,000 traces"),
        ("real", "9,000 traces with real documents"),
    ],
)
def test_a_row_of_the_readme_names_the_documents_of_another_data_set(documents: str, size: str) -> None:
    opened = msgspec.structs.replace(data_set(NEW, "open", traces=9_000), documents=documents)
    opened.open["anonymous_bytes"] = 1.0
    compared = msgspec.structs.replace(data_set(OLD), geometric_mean=2.0)
    text = short_table([compared, opened])
    assert "Medians over 1,000 traces with small documents" in text
    assert f"| `spanwise serve` to ready, with {size} |" in text


def test_the_readme_begins_with_the_slowest_phrase() -> None:
    compared = msgspec.structs.replace(data_set(OLD), geometric_mean=2.0)
    assert "phrase" not in short_table([compared])
    figures = {milliseconds: Figure(milliseconds, milliseconds, 3) for milliseconds in (1.0, 2.0, 8.0, 90.0)}
    rows = [
        AskedFigures("`a b`", "phrase", 1, figures[2.0], None, None, {"chdb": figures[8.0]}, 4.0),
        AskedFigures(
            "`c d`", "rare phrase", 1, figures[8.0], None, None, {"chdb": figures[2.0], "tantivy": figures[1.0]}, 0.125
        ),
        AskedFigures("`e`", "token", 1, figures[90.0], None, None, {"chdb": figures[1.0]}, 0.01),
    ]
    asked = msgspec.structs.replace(data_set(NEW, "texts", traces=9_000), texts=rows)
    table = short_table([compared, asked]).splitlines()
    assert table[5] == "| phrase `c d`, 9,000 traces | 8.00 ms | 1.00 ms (Tantivy) | 0.12x |"


def test_the_pages_of_the_documentation_show_its_figures() -> None:
    docs = ROOT / "docs"
    data_sets = msgspec.json.decode((docs / "benchmarks.json").read_bytes(), type=list[DataSet])
    written, _, _ = (docs / "benchmarks.md").read_text("utf-8").partition(f"\n{BY_HAND}")
    assert page(data_sets, "benchmarks.svg", "benchmarks.json") == written
    assert short_table(data_sets) in (ROOT / "README.md").read_text("utf-8")
