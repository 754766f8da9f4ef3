"""Paths of the repository that tests read."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
TESTS = ROOT / "tests"
SOURCES = ROOT / "python" / "spanwise"
CASES = TESTS / "cases"
IMPORTS = TESTS / "imports"
OTLP = TESTS / "otlp"
AGNO_DATABASES = TESTS / "agno_databases"
UI_SOURCES = ROOT / "ui"
