"""User mistakes: each ends in one line with the problem and the remedy."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import TYPE_CHECKING, NamedTuple

import pytest

from spanwise import TraceStore
from support.clients.otlp import export_request
from support.services.process import NO_DEFAULT_PORTS, free_port

if TYPE_CHECKING:
    from pathlib import Path

PROGRAMS = {
    "app": "from spanwise import Service\nservice = Service()\n",
    "raises": "def limit():\n    return int('many')\n\nlimit()\n",
    "bad": "service = [\n",
    "elsewhere": "from spanwise import Service\napi = Service()\nservice = 'not one'\n",
    "needs_agno": "import sys\nsys.modules['agno'] = None\nfrom agno.agent import Agent\n",
    "needs_leftpad": "import leftpad\n",
    "plain_function": "from spanwise import Service\ndef answer(text): ...\nservice = Service(agents=[answer])\n",
    "arity": "from spanwise import AgentFactory\nAgentFactory('one', object(), lambda: 1)\n",
}
"""The users' programs, by module."""
NOWHERE = "/sys/spanwise"
"""A folder that cannot be created."""
ERRORS = '{"op": "EQ", "key": "status", "value": "ERROR"}'


class Mistake(NamedTuple):
    """A command line, and the expected line of output."""

    typed: str
    said: str


MISTAKES = [
    Mistake("srve", "No such command 'srve'"),
    Mistake("serve --prot 8080", "Did you mean one of: '--host', '--port'?); see `spanwise serve --help`"),
    Mistake("serve --port http", "setting `port` from the command line: "),
    Mistake("serve --authorization", "authorization is on"),
    Mistake("serve nowhere", "there is no `nowhere` in"),
    Mistake("serve app.py", "got the file `app.py`: try `app:service`"),
    Mistake("serve app.service", "got `app.service`: try `app:service`"),
    Mistake("serve data", "got the folder `data`: try `--data-dir data`"),
    Mistake("serve ./data", "got the folder `./data`: try `--data-dir ./data`"),
    Mistake("serve s3://bucket", "got the address `s3://bucket`: try `--data-dir s3://bucket`"),
    Mistake("serve --data-dir s3://", "expected a bucket as `s3://bucket` or `s3://bucket/folder`, got `s3://`"),
    Mistake("search gs:bucket", "expected a bucket as `gs://bucket` or `gs://bucket/folder`, got `gs:bucket`"),
    Mistake("serve app:servce", "`app` has no `servce`: it has `app:service`"),
    Mistake("serve elsewhere", "expected a Service at `elsewhere:service`, got `str`: it has `elsewhere:api`"),
    Mistake(
        "serve raises",
        "invalid literal for int() with base 10: 'many', at raises.py:2 in limit: `return int('many')`",
    ),
    Mistake("serve bad", "cannot import `bad`: '[' was never closed, at "),
    Mistake("serve needs_agno", "`agno` is not installed: `pip install 'spanwise[agno]'`, at needs_agno.py:3"),
    Mistake("serve needs_leftpad", "`leftpad` is not installed: `pip install leftpad`, at needs_leftpad.py:1"),
    Mistake(
        "serve plain_function",
        "expected an agent, got the function `answer`: `Agent(answer, id=...)` makes an agent of it, at",
    ),
    Mistake("serve arity", "AgentFactory `one`: expected a callable that takes one argument, the RequestContext, got"),
    Mistake(f"demo --data-dir {NOWHERE}", f"cannot write `{NOWHERE}/demo.json`: "),
    Mistake(f"export data -o {NOWHERE}/file", f"cannot write `{NOWHERE}/file`: "),
    Mistake("export data", "Missing option '-o'"),
    Mistake("import data empty.jsonl", "found no spans in empty.jsonl; `spanwise import --help` lists the formats"),
    Mistake("import data nowhere.jsonl", "cannot read `nowhere.jsonl`: No such file or directory"),
    Mistake("import empty.jsonl data", "expected FOLDER, the data folder to import into, got the file `empty.jsonl`"),
    Mistake("delete data", "missing FILTER (JSON); use '{}' to match every trace"),
    Mistake("delete data {}", "this deletes the only trace of `data/traces`: pass `--yes` to confirm"),
    Mistake(f"delete {ERRORS} data", f"expected FOLDER before FILTER: `spanwise delete data '{ERRORS}'`"),
    Mistake("search data status=ERROR", "expected FILTER as JSON, such as '{}', got `status=ERROR`"),
    Mistake('search data {"op":"XX","key":"name"}', "unknown operator `XX`"),
    Mistake(
        "search data {'op':'EQ'}", "expected FILTER as JSON: JSON has double quotes, found a single one at character 2"
    ),
    Mistake("tail {'op':'EQ'}", "expected FILTER as JSON: JSON has double quotes, found a single one at character 2"),
    Mistake("search nowhere", "expected traces in `nowhere/traces`, found no such folder"),
    Mistake("check nowhere", "expected traces in `nowhere/traces`, found no such folder"),
    Mistake("backup nowhere copy", "expected traces in `nowhere/traces`, found no such folder"),
    Mistake("backup data data", "expected an empty folder, found something in `data/traces`"),
    Mistake("show data 0123", "`data/traces` has no trace `0123`; list traces with `spanwise search data`"),
    Mistake("show 0123", "start one with `spanwise serve`, or pass `--url`; expected traces in"),
    Mistake("tail", "start one with `spanwise serve`, or pass `--url`"),
    Mistake("tail --url localhost:7777", "got `localhost:7777`: try `--url http://localhost:7777`"),
    Mistake("ui --url localhost:7777", "got `localhost:7777`: try `--url http://localhost:7777`"),
    Mistake(
        "token mint --key nowhere --sub me",
        "cannot read the key file `nowhere`; create one with `spanwise token keygen`",
    ),
    Mistake("token mint --key nowhere --sub me --claim level", "expected --claim NAME=VALUE, got `level`"),
    Mistake("token mint --key nowhere --sub me --claim exp=1", "has its own option: `--minutes`"),
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Returns a folder with the programs, a data folder with one trace, and an empty file."""
    folder = tmp_path_factory.mktemp("work")
    for name, text in PROGRAMS.items():
        (folder / f"{name}.py").write_text(text, "utf-8")
    (folder / "empty.jsonl").touch()
    store = TraceStore.open(str(folder / "data" / "traces"))
    store.ingest(export_request("a" * 32, "b" * 16), "application/json")
    store.close()
    return folder


def typed(arguments: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("SPANWISE_", "JWT_"))}
    return subprocess.run(
        [sys.executable, "-m", "spanwise", *arguments],
        cwd=folder,
        env=inherited | NO_DEFAULT_PORTS | {"SPANWISE_PORT": str(free_port())} | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def words(line: str) -> list[str]:
    """Returns the arguments of a line. An argument in braces may contain spaces."""
    before, brace, rest = line.partition("{")
    if not brace:
        return line.split()
    inside, _, after = rest.rpartition("}")
    return [*before.split(), f"{{{inside}}}", *after.split()]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.typed)
def test_a_mistake_ends_in_one_line(folder: Path, mistake: Mistake) -> None:
    done = typed(words(mistake.typed), folder)
    assert done.returncode not in {0, -1}, done.stdout
    (line,) = done.stderr.splitlines()
    assert line.startswith("Error: ")
    assert mistake.said in line


def test_an_unknown_variable_of_the_environment_is_named(folder: Path) -> None:
    done = typed(["serve"], folder, SPANWISE_PRT="1")
    assert done.stderr == "Error: unknown environment variable `SPANWISE_PRT`: there is no such setting\n"


def test_a_folder_in_use_is_said_to_be(folder: Path) -> None:
    store = TraceStore.open(str(folder / "data" / "traces"))
    try:
        for line in (["compact", "data"], ["serve", "--data-dir", "data"]):
            done = typed(line, folder)
            assert "Traceback" not in done.stderr
            last = done.stderr.splitlines()[-1]
            assert last == f"Error: `data/traces` is held by process {os.getpid()}", done.stderr
    finally:
        store.close()


def test_nothing_was_deleted_by_mistake(folder: Path) -> None:
    done = typed(["delete", "data", "{}", "--dry-run", "--json"], folder)
    assert json.loads(done.stdout) == {"matching": 1}
    assert typed(["delete", "data", "{}", "--yes"], folder).stdout == "Deleted 1 trace.\n"
