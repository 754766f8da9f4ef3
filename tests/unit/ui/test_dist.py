"""The committed build matches the sources beside it. These tests need no Node; `make ui` rebuilds it."""

from __future__ import annotations

import json
import re
from hashlib import sha256
from html.parser import HTMLParser

import pytest

from spanwise.http.middleware.compression import compress
from spanwise.ui.files import DIST, MANIFEST, PAGE, THIRD_PARTY, read_files
from support.paths import UI_SOURCES

SOURCES = [
    "build",
    "index.html",
    "package-lock.json",
    "package.json",
    "src",
    "svelte.config.js",
    "tsconfig.json",
    "vite.config.ts",
]
"""The inputs of a build, as listed in `ui/build/manifest.ts`."""
MAX_BYTES = 1_000_000
MAX_FIRST_LOAD_BYTES = 90_000
LICENSES = {"MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"}


class Loaded(HTMLParser):
    """Collects the elements of the page and their resources."""

    def __init__(self) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_data(self, data: str) -> None:
        self.text += data

    @property
    def addresses(self) -> list[str]:
        given = [attributes.get("src") or attributes.get("href") for _, attributes in self.elements]
        return [address for address in given if address]


@pytest.fixture(scope="module")
def page() -> Loaded:
    found = Loaded()
    found.feed(read_files()[PAGE].decode())
    return found


def hash_of_sources() -> str:
    paths = [
        path
        for source in SOURCES
        for path in ([UI_SOURCES / source] if (UI_SOURCES / source).is_file() else (UI_SOURCES / source).rglob("*"))
        if path.is_file() and not path.name.endswith(".test.ts")
    ]
    lines = {str(path.relative_to(UI_SOURCES).as_posix()): sha256(path.read_bytes()).hexdigest() for path in paths}
    return sha256("".join(f"{lines[name]}  {name}\n" for name in sorted(lines)).encode()).hexdigest()


def test_it_is_built_from_the_sources() -> None:
    assert (DIST / "BUILT_FROM").read_text().strip() == hash_of_sources(), "run `make ui`"


def test_the_manifest_lists_every_file_with_its_size() -> None:
    manifest = json.loads((DIST / MANIFEST).read_bytes())
    listed = {entry["path"]: entry["bytes"] for entry in manifest["files"]}
    files = {path.relative_to(DIST).as_posix(): path.stat().st_size for path in DIST.rglob("*") if path.is_file()}
    del files[MANIFEST]
    assert listed == files
    assert set(read_files()) == set(files)


def test_it_is_small(page: Loaded) -> None:
    files = read_files()
    assert sum(map(len, files.values())) <= MAX_BYTES
    first = [PAGE, *(address.removeprefix("./ui/") for address in page.addresses)]
    assert len(first) >= 3
    assert sum(len(compress(files[path], "gzip")) for path in first) <= MAX_FIRST_LOAD_BYTES


def test_the_page_has_no_script_or_style_of_its_own_and_loads_only_files_of_the_build(page: Loaded) -> None:
    title = next(text for text in page.text.split("\n") if text.strip())
    assert page.text.strip() == title.strip(), "a page with text in it may have an inline script"
    for tag, attributes in page.elements:
        assert tag in {"html", "head", "meta", "title", "link", "script", "body"}
        assert not any(name == "style" or name.startswith("on") for name in attributes)
    assert all(address.removeprefix("./ui/") in read_files() for address in page.addresses)
    assert all(re.fullmatch(r"\./ui/assets/[\w.-]+-[\w-]{8}\.\w+", address) for address in page.addresses)


def test_nothing_of_the_build_names_an_address_to_load_from() -> None:
    for path, content in read_files().items():
        if path.endswith(".css"):
            assert not re.search(rb"@import|url\((?![\"']?(data:|\./))", content), path


def test_what_is_linked_into_it_has_a_license_that_allows_it() -> None:
    text = read_files()[THIRD_PARTY].decode()
    found = re.findall(r"^## (\S+) - \S+ \((.*)\)$", text, re.MULTILINE)
    assert "svelte" in {name for name, _ in found}
    assert {license_ for _, license_ in found} <= LICENSES
