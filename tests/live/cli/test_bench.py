"""The whole bench over a few traces. Every result is compared and reported; times are not checked."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple
from xml.etree import ElementTree as ET

import pytest
from click.testing import CliRunner

from spanwise.bench import results
from spanwise.bench.data.shape import Shape
from spanwise.bench.peers import PEERS
from spanwise.bench.queries import query_templates
from spanwise.bench.report.readme import BEGIN, END
from spanwise.bench.stages import STAGES
from spanwise.bench.stages.check import QUERIES_PER_TEMPLATE
from spanwise.bench.stages.http import LIMITS, SCATTERED
from spanwise.cli import commands

if TYPE_CHECKING:
    from pathlib import Path

SHAPE = Shape(2_000, "real", 7)
TITLES = [template.title for template in query_templates(SHAPE)]


class Done(NamedTuple):
    """A finished bench and the paths of its files."""

    target: Path
    printed: str
    measured: results.Results


def bench(target: Path, *flags: str) -> str:
    effort = ["--runs", "1", "--query-seconds", "0", "--ingest-seconds", "0.5", "--questions", "4"]
    files = ["--target", str(target), "--report", str(target / "out.md"), "--readme", str(target / "README.md")]
    answer = CliRunner().invoke(commands, ["bench", "--traces", str(SHAPE.traces), *effort, *files, *flags])
    assert answer.exit_code == 0, answer.output
    return answer.output


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Done:
    target = tmp_path_factory.mktemp("bench")
    (target / "README.md").write_text(f"before\n{BEGIN}\nwritten before\n{END}\nafter\n")
    printed = bench(target)
    return Done(target, printed, results.read(target / SHAPE.folder, SHAPE))


def test_every_result_was_compared(done: Done) -> None:
    assert done.measured.check is not None
    assert done.measured.check.answers == dict.fromkeys(TITLES, QUERIES_PER_TEMPLATE)


def test_every_query_was_timed_on_every_engine(done: Done) -> None:
    assert done.measured.engine is not None
    assert done.measured.engine.is_complete
    assert [row.title for row in done.measured.engine.rows] == TITLES
    for row in done.measured.engine.rows:
        assert {name: len(times) for name, times in row.times.items()} == dict.fromkeys(("spanwise", *PEERS), 1)
    assert done.measured.engine.memory.keys() == {"spanwise", *PEERS}


def test_every_query_was_timed_over_http(done: Done) -> None:
    assert done.measured.http is not None
    served = [(row.title, row.limit) for row in done.measured.http.rows]
    assert served == [(title, limit) for title in TITLES for limit in LIMITS] + [(SCATTERED, 100)]
    assert all(row.times and row.answer_bytes > 0 for row in done.measured.http.rows)


def test_ingested_traces_were_found(done: Done) -> None:
    assert done.measured.ingest is not None
    durable, busy = done.measured.ingest.durable, done.measured.ingest.busy
    assert durable.spans > 0
    assert durable.spans % 512 == 0
    assert durable.sent_bytes / durable.spans == pytest.approx(1_087, rel=0.1)
    assert busy.asked > 0
    assert busy.found == busy.asked
    assert busy.idle
    assert busy.busy


def test_the_store_was_opened(done: Done) -> None:
    assert done.measured.open is not None
    assert len(done.measured.open.seconds) == 1
    opened = done.measured.open
    assert 0 < opened.anonymous_bytes < opened.anonymous_bytes + opened.file_bytes <= opened.peak_bytes
    assert 0 < opened.empty_resident_bytes < opened.peak_bytes
    page = (done.target / "out.md").read_text()
    assert all(f"{name} | " in page for name in ("RssAnon", "RssFile", "VmHWM"))


def test_only_the_store_and_the_results_are_left(done: Done) -> None:
    left = {path.name for path in (done.target / SHAPE.folder).iterdir()}
    assert left == {"data", "data.log", "progress.json", "results.json", "rows.arrow"}


def test_the_report_is_complete(done: Done) -> None:
    page = (done.target / "out.md").read_text()
    for title in TITLES:
        assert page.count(f"| {title} |") >= 2, title
    # Headings have remarks about the load in brackets.
    headings = [line.removeprefix("### ").partition(" (")[0] for line in page.splitlines() if line.startswith("### ")]
    http = "Over HTTP, with full span trees"
    asked = ["What was said", "What was done", "Attributes"]
    generated = ["4 generated questions", "Masks over Arrow batches"]
    questions = ["Beside the peers", "Aggregations", "Facets", "The indexes", "Bytes a span", *asked]
    assert headings == ["Goals", "Circumstances", "The store", *questions, *generated, http, "Ingest", "Opening"]
    assert f"{len(TITLES) * QUERIES_PER_TEMPLATE} answers were compared with DuckDB's" in page
    assert "(out.json)" in page
    assert "(out.svg)" in page
    goals = page.partition("### Goals")[2].partition("###")[0]
    assert goals.count("| yes |") + goals.count("| no |") == 26


def test_the_figures_are_the_page_as_json(done: Done) -> None:
    (data_set,) = json.loads((done.target / "out.json").read_bytes())
    assert [row["title"] for row in data_set["queries"]] == TITLES
    assert all(row["ratio"] > 0 for row in data_set["queries"])
    assert data_set["checked_answers"] == len(TITLES) * QUERIES_PER_TEMPLATE
    assert data_set["stages"].keys() == set(STAGES)
    versions = data_set["stages"]["engine"]["versions"]
    assert all(versions[name][0].isdigit() for name in PEERS)


def test_the_plot_has_a_line_for_every_query(done: Done) -> None:
    plot = ET.parse(done.target / "out.svg")  # noqa: S314  # the bench wrote it
    titles = [element.text or "" for element in plot.iter("{http://www.w3.org/2000/svg}title")]
    assert len(titles) == len(TITLES) + 4
    assert titles.count("fastest peers") == 4


def test_the_readme_is_written_within_its_region(done: Done) -> None:
    text = (done.target / "README.md").read_text()
    assert text.startswith(f"before\n{BEGIN}\nMedians over 2,000 traces")
    assert text.endswith(f"\n{END}\nafter\n")
    assert "written before" not in text
    assert "| mix |" in text
    assert "| `spanwise serve` to ready, with 2,000 traces |" in text


def test_finished_stages_are_not_repeated_unless_requested(done: Done) -> None:
    before = done.measured
    printed = bench(done.target)
    assert [line for line in printed.splitlines() if "already done" in line] == [
        f"{stage}: already done; use --again to repeat it" for stage in STAGES
    ]
    bench(done.target, "--only", "check", "--again")
    after = results.read(done.target / SHAPE.folder, SHAPE)
    assert after.check is not None
    assert after.check.answers == dict.fromkeys(TITLES, QUERIES_PER_TEMPLATE)
    assert after.engine == before.engine
