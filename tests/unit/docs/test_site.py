"""The documentation site builds without warnings, is complete, and has no broken links."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

import pytest

from support.paths import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytest.importorskip("zensical", reason="the development environment has the generator")

DOCS = ROOT / "docs"
CONFIG = ROOT / "zensical.toml"
BASE = "http://site/"


class Page(HTMLParser):
    """The links, resources and anchors of a page of the site."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.links: set[str] = set()
        self.loaded: set[str] = set()
        self.ids: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value for name, value in attrs if value is not None}
        self.ids |= {given[name] for name in ("id", "name") if name in given}
        if tag == "a" and "href" in given:
            self.links.add(given["href"])
        elif tag != "a":
            self.loaded |= {given[name] for name in ("src", "href") if name in given}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built like `make docs` but in another folder."""
    folder = tmp_path_factory.mktemp("site")
    shutil.copytree(DOCS, folder / "docs")
    shutil.copy(CONFIG, folder)
    (folder / "python").symlink_to(ROOT / "python")
    run("-m", "zensical", "build", "--strict", "--clean", "--config-file", str(folder / CONFIG.name))
    built = folder / "target" / "site"
    run("-m", "spanwise.http.openapi", str(built / "reference" / "openapi"))
    return built


def run(*arguments: str) -> None:
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def file_of(site: Path, url: str) -> Path:
    path = site / unquote(urlsplit(url).path).lstrip("/")
    return path / "index.html" if path.is_dir() else path


def pages_of(site: Path) -> list[Path]:
    """Returns the pages without the 404 page, whose links start at the site's address."""
    return [path for path in sorted(site.rglob("*.html")) if path.name != "404.html"]


@cache
def parsed(path: Path) -> Page:
    return Page(path.read_text("utf-8"))


def test_every_page_is_on_the_site(site: Path) -> None:
    sources = [path.relative_to(DOCS) for path in DOCS.rglob("*.md")]
    folders = {path.parent if path.name in {"README.md", "index.md"} else path.with_suffix("") for path in sources}
    folders.add(Path("reference", "openapi"))
    assert {path.parent.relative_to(site) for path in pages_of(site)} == folders


def test_every_link_of_the_site_leads_to_a_page_and_a_heading(site: Path) -> None:
    lost = []
    for path in pages_of(site):
        here = urljoin(BASE, f"{path.parent.relative_to(site)}/")
        page = parsed(path)
        for link in page.links | page.loaded:
            url = urljoin(here, link)
            fragment = unquote(urlsplit(url).fragment)
            if not url.startswith(BASE):
                continue
            target = file_of(site, url)
            if not target.exists() or (fragment and target.suffix == ".html" and fragment not in parsed(target).ids):
                lost.append((str(path.relative_to(site)), link))
    assert lost == []


def test_the_site_loads_nothing_from_elsewhere(site: Path) -> None:
    loaded = {url for path in pages_of(site) for url in parsed(path).loaded}
    assert {url for url in loaded if re.match(r"(\w+:)?//", url)} == set()


def named(navigation: list[object]) -> Iterator[str]:
    for entry in navigation:
        match entry:
            case str():
                yield entry
            case dict():
                for below in entry.values():
                    yield from named(below if isinstance(below, list) else [below])


def test_the_navigation_has_every_page_once() -> None:
    navigation = list(named(tomllib.loads(CONFIG.read_text("utf-8"))["project"]["nav"]))
    dated = {path for path in DOCS.glob("decisions/*.md") if path.name != "README.md"}
    pages = [str(path.relative_to(DOCS)) for path in DOCS.rglob("*.md") if path not in dated]
    assert sorted(navigation) == sorted([*pages, "reference/openapi/"])


def test_every_decision_is_on_the_page_of_decisions() -> None:
    listed = re.findall(r"\]\((\d{4}-[^)#]+\.md)\)", (DOCS / "decisions" / "README.md").read_text("utf-8"))
    assert sorted(listed) == sorted(path.name for path in DOCS.glob("decisions/????-*.md"))


@pytest.mark.parametrize("path", sorted(DOCS.glob("decisions/????-*.md")), ids=lambda path: path.stem)
def test_a_decision_is_short_and_has_its_sections(path: Path) -> None:
    text = path.read_text("utf-8")
    assert re.findall("^## (.*)", text, re.MULTILINE) == ["Context", "Decision", "Consequences", "Status"]
    assert len(text.split()) <= 500
