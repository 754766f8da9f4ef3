"""Finds the service of a program, `MODULE:SERVICE` on the command line."""

from __future__ import annotations

import sys
import traceback
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from spanwise.app import Service
from spanwise.errors import ConfigurationError, SpanwiseError

if TYPE_CHECKING:
    from types import ModuleType

DEFAULT_NAME = "service"
EXTRAS = {
    "agno": "agno",
    "openinference": "agno",
    "fastapi": "agno",
    "pydantic_ai": "pydantic-ai",
    "psycopg": "postgresql",
}
"""The extra of Spanwise that installs a package, by import name."""


def find_service(target: str) -> Service:
    """Returns the service `module:service`, or `module`. Searches the working directory first.

    Raises:
        ConfigurationError: the module cannot be imported, or the attribute is not a service.
    """
    module_name, _, attribute = target.partition(":")
    if module_name.endswith(".py"):
        fixed = ":".join([module_name.removesuffix(".py").replace("/", ".").lstrip("."), attribute or DEFAULT_NAME])
        raise ConfigurationError(f"expected MODULE:SERVICE, got the file `{target}`: try `{fixed}`")
    _expect_no_store(target)
    sys.path.insert(0, str(Path.cwd()))
    module = _imported(module_name, target)
    found = getattr(module, attribute or DEFAULT_NAME, None)
    if isinstance(found, Service):
        return found
    names = [name for name, value in vars(module).items() if isinstance(value, Service)]
    hint = (
        f"it has {_named(names, module_name)}"
        if names
        else "it has no Service at all: `service = Service(...)` makes one"
    )
    if found is None:
        raise ConfigurationError(f"`{module_name}` has no `{attribute or DEFAULT_NAME}`: {hint}")
    raise ConfigurationError(
        f"expected a Service at `{module_name}:{attribute or DEFAULT_NAME}`, got `{type(found).__name__}`: {hint}"
    )


def _expect_no_store(target: str) -> None:
    """Raises ConfigurationError if `target` is a store: a folder without Python files, or a URL."""
    is_folder = Path(target).is_dir() and not any(Path(target).glob("*.py"))
    if is_folder or "://" in target:
        kind = "folder" if is_folder else "address"
        raise ConfigurationError(f"expected MODULE:SERVICE, got the {kind} `{target}`: try `--data-dir {target}`")


def _named(names: list[str], module: str) -> str:
    return ", ".join(f"`{module}:{name}`" for name in names)


def _imported(name: str, target: str) -> ModuleType:
    try:
        is_there = bool(name) and find_spec(name) is not None
    except (ImportError, ValueError) as error:
        is_in_module = isinstance(error, ModuleNotFoundError) and error.name == target  # its parent is not a package
        hint = f"try `{':'.join(target.rsplit('.', 1))}`" if is_in_module else error
        raise ConfigurationError(f"expected MODULE:SERVICE, got `{target}`: {hint}") from error
    except Exception as error:  # a parent package was imported, which can raise anything
        raise ConfigurationError(_import_failure(name, error)) from error
    if not is_there:
        raise ConfigurationError(
            f"expected MODULE:SERVICE, got `{target}`: there is no `{name}` in `{Path.cwd()}`, nor is it installed"
        )
    try:
        return import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a module can raise anything, `SystemExit` too
        raise ConfigurationError(_import_failure(name, error)) from error


def _import_failure(name: str, error: BaseException) -> str:
    """Returns why a module could not be imported, with the deepest frame of the user's own code."""
    if isinstance(error, SyntaxError):
        return f"cannot import `{name}`: {error.msg}, at {error.filename}:{error.lineno}"
    reason = str(error) if isinstance(error, SpanwiseError) else f"{type(error).__name__}: {error}".removesuffix(": ")
    missing = error.name if isinstance(error, ModuleNotFoundError) else None
    if missing is not None:
        package = missing.partition(".")[0]
        wanted = f"'spanwise[{EXTRAS[package]}]'" if package in EXTRAS else package
        reason = f"the package `{package}` is not installed: `pip install {wanted}`"
    return f"cannot import `{name}`: {reason}{_location(error)}"


def _location(error: BaseException) -> str:
    """Returns the line of the user's program that an error came from."""
    here = Path(__file__).parents[2]
    installed = [Path(folder) for folder in (sys.prefix, sys.base_prefix)]
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
        and not Path(frame.filename).is_relative_to(here)
        and not ("site-packages" in frame.filename or any(map(Path(frame.filename).is_relative_to, installed)))
    ]
    if not own:
        return ""
    frame = own[-1]
    path = Path(frame.filename)
    shown = path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path
    return f", at {shown}:{frame.lineno} in {frame.name}: `{frame.line}`"
