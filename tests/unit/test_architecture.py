"""The architecture of the package: import order, and the sizes of files and folders."""

from __future__ import annotations

import ast
from collections import Counter
from graphlib import CycleError, TopologicalSorter
from typing import TYPE_CHECKING

import pytest

from support.paths import SOURCES as PACKAGE

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ORDER = [
    "errors",
    "strict_json",
    "output_file",
    "masking",
    "api",
    "client",
    "metrics",
    "memory",
    "fair_budget",
    "malloc_trim",
    "settings",
    "auth",
    "database",
    "_engine",
    "store_protocol",
    "engine_globals",
    "pools",
    "cluster",
    "traces",
    "components",
    "factories",
    "registry",
    "runs",
    "ui",
    "http",
    "app",
    "gateway_service",
    "__init__",
    "demo",
    "bench",
    "cli",
    "__main__",
]
SOURCES = sorted(PACKAGE.rglob("*.py"))
MAX_MODULES_IN_A_FOLDER = 20


def top_level_module(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imports_of(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import():
                yield from (name.name for name in node.names)
            case ast.ImportFrom(module="spanwise"):
                modules = {name.name for name in node.names} & set(ORDER)
                yield from (f"spanwise.{module}" for module in modules or {"__init__"})
            case ast.ImportFrom(module=str(module), level=0):
                yield module
            case ast.ImportFrom(level=level):
                assert level == 1, f"{path} uses a relative import of another folder"


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_module_imports_only_modules_before_it(path: Path) -> None:
    own = ORDER.index(top_level_module(path))
    for module in imports_of(path):
        if module.startswith("spanwise."):
            assert ORDER.index(module.split(".")[1]) <= own, f"{path} imports {module}, which comes after it"


def qualified_name(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


def imported_modules(path: Path, modules: set[str]) -> set[str]:
    """Returns the subset of `modules` that a file imports, including imports for type checking."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        match node:
            case ast.Import():
                found.update(name.name for name in node.names)
            case ast.ImportFrom(module=str(module)):
                names = {f"{module}.{name.name}" for name in node.names}
                submodules = names & modules
                found |= submodules | ({module} if names - submodules else set())
    return (found & modules) - {qualified_name(path)}


MODULES = {qualified_name(path) for path in SOURCES}
IMPORTS = {qualified_name(path): imported_modules(path, MODULES) for path in SOURCES}
FOLDERS = {qualified_name(path): qualified_name(path.parent / "__init__.py") for path in SOURCES}
"""The folder of every module, as a package."""


def part_of(package: str, module: str) -> str:
    """Returns the file or folder of `package` that a module is in."""
    return module.removeprefix(package).partition(".")[2].partition(".")[0] or "__init__"


def expect_one_direction(imports: dict[str, set[str]]) -> None:
    try:
        TopologicalSorter(imports).prepare()
    except CycleError as error:
        pytest.fail(f"import cycle: {' <- '.join(error.args[1])}")


def test_no_import_cycle() -> None:
    expect_one_direction(IMPORTS)


@pytest.mark.parametrize("package", sorted(set(FOLDERS.values()) - {"spanwise"}))
def test_the_files_and_folders_of_a_package_import_each_other_in_one_direction(package: str) -> None:
    parts: dict[str, set[str]] = {}
    for module in MODULES:
        if f"{module}.".startswith(f"{package}."):
            inside = (part_of(package, other) for other in IMPORTS[module] if f"{other}.".startswith(f"{package}."))
            parts.setdefault(part_of(package, module), set()).update(inside)
    expect_one_direction({part: others - {part} for part, others in parts.items()})


@pytest.mark.parametrize("layer", sorted({folder.split(".")[1] for folder in FOLDERS.values() if "." in folder}))
def test_a_folder_and_those_inside_it_import_each_other_in_one_direction(layer: str) -> None:
    if layer == "bench":
        pytest.skip("its files start the stages and serve them, too")
    folders: dict[str, set[str]] = {}
    for module, folder in FOLDERS.items():
        if f"{folder}.".startswith(f"spanwise.{layer}."):
            others = {FOLDERS[other] for other in IMPORTS[module]}
            folders.setdefault(folder, set()).update(others - {folder})
    expect_one_direction(folders)


def test_a_folder_has_few_modules() -> None:
    modules = Counter(path.parent for path in SOURCES if path.name != "__init__.py")
    assert {folder.name: count for folder, count in modules.items() if count > MAX_MODULES_IN_A_FOLDER} == {}


@pytest.mark.parametrize(
    ("package", "modules"),
    [
        ("starlette", {"http"}),
        ("granian", {"http"}),
        ("h2", {"http"}),
        ("spanwise._engine", {"store_protocol", "engine_globals", "pools", "cluster", "traces"}),
        ("ray", {"cluster"}),
        ("click", {"cli"}),
        ("httpx", {"client"}),
        ("jwt", {"auth"}),
        ("cryptography", {"auth"}),
        ("agno", {"components"}),
        ("pydantic_ai", {"components"}),
        ("numpy", {"bench"}),
        ("duckdb", {"bench"}),
    ],
)
def test_a_package_is_imported_by_few_modules_only(package: str, modules: set[str]) -> None:
    importing = {
        top_level_module(path)
        for path in SOURCES
        if any(name == package or name.startswith(f"{package}.") for name in imports_of(path))
    }
    assert importing == modules


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_file_has_at_most_800_lines(path: Path) -> None:
    assert len(path.read_text("utf-8").splitlines()) <= 800


def test_every_folder_has_a_docstring() -> None:
    for folder in {path.parent for path in SOURCES} - {PACKAGE}:
        assert ast.get_docstring(ast.parse((folder / "__init__.py").read_text("utf-8"))), f"{folder} has no docstring"
