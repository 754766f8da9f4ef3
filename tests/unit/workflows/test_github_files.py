"""The forms, templates and update rules under `.github` are valid and refer only to existing things."""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

import pytest
import yaml  # type: ignore[import-untyped]  # comes without types

from support.paths import ROOT

if TYPE_CHECKING:
    from pathlib import Path

GITHUB = ROOT / ".github"
FORMS = sorted((GITHUB / "ISSUE_TEMPLATE").glob("*.yml"))
MANIFESTS = {
    "cargo": "Cargo.toml",
    "docker": "Containerfile",
    "github-actions": ".github/workflows",
    "npm": "package.json",
    "pip": "pyproject.toml",
}
"""The manifest that each ecosystem of the update rules reads in its directory."""


def form(name: str) -> dict[str, Any]:
    found: dict[str, Any] = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / name).read_text("utf-8"))
    return found


@pytest.mark.parametrize("name", ["bug.yml", "feature.yml"])
def test_a_form_has_a_name_and_distinct_fields(name: str) -> None:
    found = form(name)
    assert found["name"]
    assert found["description"]
    fields = [item for item in found["body"] if item["type"] != "markdown"]
    ids = [item["id"] for item in fields]
    assert len(ids) == len(set(ids)) > 0
    assert all(item["attributes"]["label"] for item in fields)


def test_a_bug_report_asks_for_the_version_and_a_check() -> None:
    labels = " ".join(item["attributes"].get("label", "") for item in form("bug.yml")["body"])
    assert "spanwise --version" in labels
    assert "spanwise check --json" in labels


@pytest.mark.parametrize("path", [GITHUB / "pull_request_template.md", *FORMS], ids=lambda path: path.name)
def test_a_path_in_a_template_exists(path: Path) -> None:
    named = re.findall(r"`((?:docs|python|rust|tests)/[^` ]+)`", path.read_text("utf-8"))
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_the_update_rules_cover_every_manifest_once() -> None:
    rules = yaml.safe_load((GITHUB / "dependabot.yml").read_text("utf-8"))["updates"]
    named = {rule["package-ecosystem"]: rule["directory"] for rule in rules}
    assert set(named) == set(MANIFESTS)
    folders = {name: ROOT / PurePosixPath(directory).relative_to("/") for name, directory in named.items()}
    assert [name for name, folder in folders.items() if not (folder / MANIFESTS[name]).exists()] == []


def test_every_file_has_an_owner() -> None:
    lines = [
        line.split() for line in (GITHUB / "CODEOWNERS").read_text("utf-8").splitlines() if line[:1] not in {"", "#"}
    ]
    assert lines[0][0] == "*"
    assert all(owner.startswith("@") for _, *owners in lines for owner in owners)
