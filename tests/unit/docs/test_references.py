"""Every reference to a page leads to an existing page and heading."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

import pytest

from support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", *sorted(DOCS.rglob("*.md"))]
SOURCES = sorted(
    path
    for folder in ("rust", "python", "tests", "benches")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".rs", ".py", ".pyi", ".md"} and "agno_databases" not in path.parts
)
CITATION = re.compile(r"\bdocs/(?P<page>[\w./-]+\.md)(?:#(?P<anchor>[\w-]+))?")
LINK = re.compile(r"\]\((?!\w+:)(?P<page>[^)#\s]*)(?:#(?P<anchor>[^)\s]+))?\)")
FENCE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
# Citations from before the repository contained their sources. The words are split, or this file would match.
UNKNOWN_SOURCE = re.compile(
    "|".join(("design, " + "section", 'specification, ["`]', r"\bcompat" + r" \d")), re.IGNORECASE
)


@cache
def anchors_of(page: Path) -> frozenset[str]:
    """Returns the GitHub anchors of the headings of a page."""
    found: list[str] = []
    for heading in re.findall(r"^#+ +(.+?) *$", FENCE.sub("", page.read_text("utf-8")), re.MULTILINE):
        text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading).lower()
        slug = re.sub(r"[^\w\- ]", "", text).replace(" ", "-")
        count = sum(known == slug or re.fullmatch(rf"{re.escape(slug)}-\d+", known) is not None for known in found)
        found.append(f"{slug}-{count}" if count else slug)
    return frozenset(found)


def missing(text: str, pattern: re.Pattern[str], folder: Path, own: Path) -> Iterator[str]:
    """Yields the broken references in a text. A reference without a path is to the page itself."""
    for reference in pattern.finditer(text):
        page = (folder / reference["page"]).resolve() if reference["page"] else own
        is_plain = not reference["anchor"] or page.suffix != ".md"
        if not page.exists() or not (is_plain or reference["anchor"] in anchors_of(page)):
            yield reference[0]


def test_headings_have_the_anchors_of_github(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("# `meta`: a page\n## Server-sent events\n## Keys\n```sh\n# no heading\n```\n### Keys\n", "utf-8")
    assert anchors_of(page) == {"meta-a-page", "server-sent-events", "keys", "keys-1"}


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_link_between_pages_leads_to_a_heading(path: Path) -> None:
    assert list(missing(FENCE.sub("", path.read_text("utf-8")), LINK, path.parent, path)) == []


def test_a_citation_in_the_sources_leads_to_a_heading() -> None:
    found = {
        str(path.relative_to(ROOT)): lost
        for path in SOURCES
        if (lost := list(missing(path.read_text("utf-8"), CITATION, DOCS, path)))
    }
    assert found == {}


def test_the_sources_cite_nothing_that_the_repository_does_not_hold() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for path in SOURCES
        if (lines := [line.strip() for line in path.read_text("utf-8").splitlines() if UNKNOWN_SOURCE.search(line)])
    }
    assert found == {}
