"""Writes `docs/frameworks.md`: the tested recipe of each framework, and the matrix of facts."""

from __future__ import annotations

import re
import shlex
import textwrap
from typing import TYPE_CHECKING

from support.paths import ROOT

from .facts import failures, replayed
from .framework import FRAMEWORKS, names, read, read_index, script_of

if TYPE_CHECKING:
    from .framework import Framework

PAGE = ROOT / "docs" / "frameworks.md"
ADDRESS = "http://127.0.0.1:7777"
COLUMNS = {
    "type": "Type",
    "name": "Name",
    "model": "Model",
    "provider": "Provider",
    "input": "Input",
    "output": "Output",
    "tool_name": "Tool",
    "arguments": "Arguments",
    "tokens": "Tokens",
    "cached_tokens": "Cached",
    "reasoning_tokens": "Reasoning",
    "session_id": "Session",
    "user_id": "User",
    "agent_id": "Agent",
    "error": "Error",
}
KEPT_TOGETHER = {"input_tokens": "tokens", "output_tokens": "tokens", "team_id": "agent_id", "workflow_id": "agent_id"}
WIDTH = 118
TICK, GAP, NOT_SENT = "✓", "gap", "-"
HEAD = """\
# Frameworks

Start Spanwise, then run your program with the recipe for its framework:

```sh
spanwise serve
```

Each recipe lists the packages, the variables and the lines to add. They send to the default address. For other
addresses, tokens and limits see [Send traces](otlp.md). Spanwise stores and shows spans of any other OpenTelemetry
program unchanged.

## Coverage

✓: Spanwise reads all data that the framework sends for this column. -: the framework does not send it in these cases.
gap: Spanwise does not read a part of it yet; the recipe names that part.

"""
TAIL = """
## How the recipes are tested

Each recipe comes from a program that was run with the listed releases. Its requests are stored in `tests/frameworks`. A
test replays them and compares every fact. `python -m frameworks.harness page` writes this page, and the same test fails
if the page differs.
"""


def column_of(fact: str) -> str:
    """Returns the matrix column of a fact."""
    return KEPT_TOGETHER.get(fact, fact)


def marks(name: str) -> dict[str, str]:
    """Returns the marks of a framework's row by column, from a replay of its exports."""
    framework = read(name)
    stated, failed = set[str](), set[str]()
    for case in framework.cases:
        found = failures(case, replayed(name, case))
        failed |= {column_of(place.rsplit("/", 1)[1]) for place in found if "/" in place}
        for trace in case.expected:
            stated |= {column_of(fact) for fact in trace.facts}
            stated |= {column_of(fact) for span in trace.spans for fact in span}
    return {column: GAP if column in failed else TICK if column in stated else NOT_SENT for column in COLUMNS}


def page() -> str:
    """Returns the whole page."""
    frameworks = names()
    rows = [f"| Framework | {' | '.join(COLUMNS.values())} |", f"| --- |{' :-: |' * len(COLUMNS)}"]
    for name in frameworks:
        found = marks(name)
        rows.append(f"| [{read(name).title}](#{anchor(read(name).title)}) | {' | '.join(found[c] for c in COLUMNS)} |")
    return HEAD + "\n".join(rows) + "\n\n" + "\n".join(recipe(name) for name in frameworks) + TAIL


def anchor(title: str) -> str:
    """Returns the anchor of a heading."""
    return re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-")


def recipe(name: str) -> str:
    """Returns the section of a framework: packages, variables, code and the text of its recipe."""
    framework, index = read(name), read_index(name)
    versions = ", ".join(f"{package} {version}" for package, version in index.versions.items())
    installer = "pip install" if framework.language == "python" else "npm install"
    head = _wrapped(f"Convention: {framework.convention}. Captured with {versions}.")
    parts = [f"## {framework.title}", _shell(framework, installer)]
    if code := recipe_code(name, framework):
        parts.append(f"```{'python' if framework.language == 'python' else 'js'}\n{code}\n```")
    words = FRAMEWORKS / name / "recipe.md"
    if words.exists():
        parts.append(words.read_text("utf-8").strip())
    reasons = dict.fromkeys(framework.missing.values())
    if reasons:
        parts.append("Not read yet:\n\n" + "\n".join(_wrapped(reason, "- ") for reason in reasons))
    return "\n\n".join([*parts, head]) + "\n"


def _wrapped(text: str, bullet: str = "") -> str:
    indent = " " * len(bullet)
    return textwrap.fill(f"{bullet}{text}", WIDTH, subsequent_indent=indent, break_on_hyphens=False)


def _shell(framework: Framework, installer: str) -> str:
    lines = [f"{installer} {shlex.join(framework.install)}"]
    lines += [f"export {name}={value.format(endpoint=ADDRESS)}" for name, value in framework.environment.items()]
    lines += [f"{framework.command} program.py"] if framework.command else []
    return "```sh\n" + "\n".join(lines) + "\n```"


def recipe_code(name: str, framework: Framework) -> str:
    """Returns the lines of the captured program between `recipe` and `end of recipe`, which readers copy."""
    lines = script_of(name, framework).read_text("utf-8").splitlines()
    comment = "#" if framework.language == "python" else "//"
    if f"{comment} recipe" not in lines:
        return ""
    first = lines.index(f"{comment} recipe") + 1
    return "\n".join(lines[first : lines.index(f"{comment} end of recipe")]).strip()
