"""The report: a Markdown page, its figures as JSON, a growth plot, and the table in the README."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from spanwise.bench.report.figures import DataSet, figures
from spanwise.bench.report.growth import growth_plot
from spanwise.bench.report.kept import merged
from spanwise.bench.report.page import page
from spanwise.bench.report.readme import rewrite
from spanwise.errors import ConfigurationError
from spanwise.output_file import write_output

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from spanwise.bench.results import Results


BY_HAND = "<!-- by hand -->"
"""What follows this line in a report was measured by other scripts: it is kept when the report is written again."""


def write_report(measured: Sequence[Results], report: Path, readme: Path | None) -> None:
    """Writes the report of all data sets, those included that it had before and that are not measured now.

    Args:
        measured: the results of the data sets that were measured here.
        report: the Markdown file; the JSON and the SVG file have the same name with another extension.
        readme: a file with a marked region for the short table, if any.

    Raises:
        ConfigurationError: a file cannot be written, or `readme` has no such region.
    """
    try:
        _write(measured, report, readme)
    except OSError as error:
        raise ConfigurationError(
            f"cannot write the report `{report}` or a file beside it: {error.strerror}; `--report` names another one"
        ) from error


def _write(measured: Sequence[Results], report: Path, readme: Path | None) -> None:
    plot, data = report.with_suffix(".svg"), report.with_suffix(".json")
    report.parent.mkdir(parents=True, exist_ok=True)
    kept = msgspec.json.decode(data.read_bytes(), type=list[DataSet]) if data.exists() else []
    found = merged(kept, figures(measured))
    write_output(plot, growth_plot(found).encode())
    write_output(data, msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    write_output(report, (page(found, plot.name, data.name) + _by_hand(report)).encode())
    if readme:
        rewrite(readme, found)


def _by_hand(report: Path) -> str:
    """Returns the part of a report that was written by hand, with its marker; nothing if there is none."""
    text = report.read_text("utf-8") if report.exists() else ""
    _, marker, by_hand = text.partition(BY_HAND)
    return f"\n{marker}{by_hand}" if marker else ""
