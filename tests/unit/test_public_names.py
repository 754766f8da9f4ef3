"""Everything that a program needs to host components can be imported from `spanwise`."""

from __future__ import annotations

import ast
import inspect
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import spanwise
from spanwise import RequestContext, SpanwiseError, errors, factories


def test_every_public_name_exists_once_and_in_order() -> None:
    assert spanwise.__all__ == sorted(set(spanwise.__all__))
    assert [name for name in spanwise.__all__ if not hasattr(spanwise, name)] == []


def test_every_name_is_imported_from_where_type_checkers_find_it() -> None:
    tree = ast.parse(Path(spanwise.__file__).read_text("utf-8"))
    found = {
        name.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("spanwise.")
        for name in node.names
    }
    assert sorted(found) == spanwise.__all__
    for name, module in found.items():
        assert getattr(spanwise, name) is getattr(import_module(module), name), name


@pytest.mark.parametrize(
    ("names", "absent"),
    [
        ("", "_engine traces app client httpx pyarrow starlette granian sqlalchemy opentelemetry"),
        ("Filter", "app client httpx pyarrow starlette granian sqlalchemy opentelemetry"),
        ("connect F S FilterError", "_engine traces app httpx pyarrow starlette granian sqlalchemy opentelemetry"),
        ("configure trace_context", "_engine traces app httpx pyarrow starlette granian sqlalchemy opentelemetry"),
    ],
)
def test_a_name_loads_no_more_than_it_needs(names: str, absent: str) -> None:
    program = f"""
import sys, spanwise
for name in {names.split()!r}: getattr(spanwise, name)
loaded = [name for name in {absent.split()!r} if name in sys.modules or "spanwise." + name in sys.modules]
print(*loaded)
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == "\n"


def test_the_package_alone_loads_nothing_else() -> None:
    program = """
import sys
before = set(sys.modules)
import spanwise
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - before} - sys.stdlib_module_names))
"""
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout == (
        "spanwise\n"
    )


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module `spanwise` has no attribute `Flter`"):
        _ = spanwise.Flter  # type: ignore[attr-defined]
    assert set(spanwise.__all__) == set(dir(spanwise))


def test_what_a_factory_is_given_and_raises_is_public() -> None:
    raised = {name for name, found in vars(errors).items() if inspect.isclass(found) and name.startswith("Factory")}
    assert raised >= {"FactoryError", "FactoryContextRequired"}
    assert raised | set(factories.__all__) - {"Factory"} <= set(spanwise.__all__)


def test_a_test_of_a_factory_makes_its_context() -> None:
    trusted = spanwise.TrustedContext(claims={"sub": "alice", "roles": ["a"]}, scopes=frozenset({"agents:run"}))
    context = RequestContext(user_id="alice", trusted=trusted)
    assert context.trusted.claims["roles"] == ("a",)
    assert issubclass(spanwise.FactoryContextRequired, SpanwiseError)
