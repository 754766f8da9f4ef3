"""The house keeps its order: a module imports only modules above it, and rooms stay small."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

import pytest

from support.paths import SOURCES as PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORDER = [
    "errors",
    "models",
    "metrics",
    "memory",
    "malloc_trim",
    "token_settings",
    "budgets",
    "settings",
    "auth",
    "database",
    "_engine",
    "traces",
    "components",
    "factories",
    "registry",
    "runs",
    "http",
    "app",
    "__init__",
    "demo",
    "bench",
    "cli",
    "__main__",
]
SOURCES = sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import():
                yield from (name.name for name in node.names)
            case ast.ImportFrom(module="spanwise"):
                rooms = {name.name for name in node.names} & set(ORDER)
                yield from (f"spanwise.{room}" for room in rooms or {"__init__"})
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.ImportFrom(level=level):
                assert level == 1, f"{path} imports from another room by dots"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_modules_above_it(path: Path) -> None:
    own = ORDER.index(room_of(path))
    for module in imports_of(path):
        if module.startswith("spanwise."):
            assert ORDER.index(module.split(".")[1]) <= own, f"{path} imports {module}, which stands below it"


@pytest.mark.parametrize(
    ("package", "room"),
    [
        ("starlette", "http"),
        ("granian", "http"),
        ("spanwise._engine", "traces"),
        ("click", "cli"),
        ("jwt", "auth"),
        ("cryptography", "auth"),
        ("agno", "components"),
        ("pydantic_ai", "components"),
        ("numpy", "bench"),
        ("duckdb", "bench"),
    ],
)
def test_a_package_is_known_in_one_room_only(package: str, room: str) -> None:
    knowing = {
        room_of(path)
        for path in SOURCES
        if any(module == package or module.startswith(f"{package}.") for module in imports_of(path))
    }
    assert knowing == {room}


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_has_at_most_400_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 400


def test_every_folder_is_introduced_by_the_question_it_answers() -> None:
    for folder in {path.parent for path in SOURCES} - {PACKAGE}:
        introduction = ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))) or ""
        assert introduction, f"{folder} is not introduced"
