"""The files of a framework: `framework.json` is written by hand, `exports/index.json` by a capture."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct, field

from .replies import Reply

FRAMEWORKS = Path(__file__).parents[1]
INDEX = "index.json"


class Expected(Struct, frozen=True, forbid_unknown_fields=True):
    """The facts to read from one trace of a case and from its spans. See `facts.py`."""

    spans: list[dict[str, Any]] = field(default_factory=list)
    name: Any = None
    agent_id: Any = None
    team_id: Any = None
    workflow_id: Any = None
    session_id: Any = None
    user_id: Any = None
    input: Any = None
    output: Any = None
    error: Any = None
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def facts(self) -> dict[str, Any]:
        """Returns the stated facts of the trace."""
        facts = {name: getattr(self, name) for name in self.__struct_fields__ if name != "spans"}
        return {name: fact for name, fact in facts.items() if fact is not None}


class Case(Struct, frozen=True, forbid_unknown_fields=True):
    """One run of the script: the replies of the models, and the expected facts of its traces in order of start."""

    name: str
    description: str
    expected: list[Expected]
    replies: list[Reply] = field(default_factory=list)


class Framework(Struct, frozen=True, forbid_unknown_fields=True):
    """A framework with its cases.

    `install` has the packages of a recipe, and `environment` its variables, where `{endpoint}` is the address of the
    receiver. `capture_environment` has variables used only during the capture. `missing` has the reason for each
    expected fact that is not read. Its keys are `<case>/<trace>/<fact>` or `<case>/<trace>/<span>/<fact>`.
    """

    title: str
    convention: str
    install: list[str]
    cases: list[Case]
    language: str = "python"
    environment: dict[str, str] = field(default_factory=dict)
    capture_environment: dict[str, str] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    command: str = ""
    """The command that runs the program instead of `python`, such as `opentelemetry-instrument python`."""


class ExportFile(Struct, frozen=True):
    """One captured request: a file of `exports`."""

    file: str
    case: str
    signal: str
    content_type: str
    content_encoding: str


class Index(Struct, frozen=True):
    """The record of a capture: its date, the versions, and the requests in order of arrival."""

    captured: str
    versions: dict[str, str]
    files: list[ExportFile]


def names() -> list[str]:
    """Returns the frameworks that have been captured, in order of their titles."""
    captured = [path.parents[1].name for path in FRAMEWORKS.glob(f"*/exports/{INDEX}")]
    return sorted(captured, key=lambda name: read(name).title.lower())


def read(name: str) -> Framework:
    """Returns the framework of the folder `name`."""
    return msgspec.json.decode((FRAMEWORKS / name / "framework.json").read_bytes(), type=Framework)


def read_index(name: str) -> Index:
    """Returns the record of a framework's last capture."""
    return msgspec.json.decode((FRAMEWORKS / name / "exports" / INDEX).read_bytes(), type=Index)


def script_of(name: str, framework: Framework) -> Path:
    """Returns the captured program."""
    return FRAMEWORKS / name / ("capture.py" if framework.language == "python" else "capture.mjs")
