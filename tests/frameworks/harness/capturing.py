"""Runs the script of a framework against the stub, in its own environment, and writes its exports."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from .framework import FRAMEWORKS, INDEX, Case, ExportFile, Framework, Index, read, read_index, script_of
from .neutral import neutral_body
from .replies import Script
from .servers import Export, model_stub, otlp_receiver

EXTENSIONS = {"application/x-protobuf": "pb", "application/json": "json"}
LONGEST_RUN_S = 180


class CaptureError(Exception):
    """A case did not run as its script specifies."""


def capture(name: str, cases: list[str], environment: Path) -> None:
    """Captures the named cases of a framework, or all. Installs its packages into a new `environment`."""
    framework = read(name)
    install(framework, environment)
    folder = FRAMEWORKS / name / "exports"
    folder.mkdir(exist_ok=True)
    chosen = [case for case in framework.cases if not cases or case.name in cases]
    kept = read_index(name).files if cases and (folder / INDEX).exists() else []
    kept = [file for file in kept if file.case not in cases]
    for path in folder.iterdir():
        if path.name not in {file.file for file in kept}:
            path.unlink()
    files = kept
    for case in chosen:
        exports = run(name, framework, case, environment)
        files += [write(folder, case, number, export, environment) for number, export in enumerate(exports, 1)]
        print(f"{name}/{case.name}: {len(exports)} requests")  # noqa: T201 - progress of a command
    order = [case.name for case in framework.cases]
    files.sort(key=lambda file: order.index(file.case))
    index = Index(datetime.now(UTC).date().isoformat(), versions(framework, environment), files)
    (folder / INDEX).write_bytes(msgspec.json.format(msgspec.json.encode(index), indent=1) + b"\n")


def install(framework: Framework, environment: Path) -> None:
    """Installs the newest releases of the packages of a framework, unless the environment exists."""
    if environment.exists():
        return
    if framework.language == "python":
        subprocess.run([sys.executable, "-m", "venv", str(environment)], check=True)
        pip = [str(environment / "bin" / "pip"), "install", "--quiet"]
        subprocess.run([*pip, *framework.install], check=True)
    else:
        environment.mkdir(parents=True)
        npm = shutil.which("npm") or "npm"
        subprocess.run([npm, "install", "--silent", *framework.install], cwd=environment, check=True)


def versions(framework: Framework, environment: Path) -> dict[str, str]:
    """Returns the versions of the packages that a recipe installs."""
    wanted = {re.split(r"[\[=<>~]|(?<!^)@", package)[0]: package for package in framework.install}
    if framework.language == "python":
        command = [str(environment / "bin" / "pip"), "list", "--format=json"]
        listed = json.loads(subprocess.run(command, check=True, capture_output=True).stdout)
        installed = {item["name"].lower().replace("_", "-"): item["version"] for item in listed}
    else:
        command = [shutil.which("npm") or "npm", "ls", "--json", "--depth=0"]
        listed = json.loads(subprocess.run(command, check=True, capture_output=True, cwd=environment).stdout)
        installed = {package: item["version"] for package, item in listed["dependencies"].items()}
    return {package: installed[package.lower().replace("_", "-")] for package in wanted}


def run(name: str, framework: Framework, case: Case, environment: Path) -> list[Export]:
    """Runs one case and returns its exports, without metrics.

    Raises:
        CaptureError: the script failed, a request had no reply, or a reply was not used.
    """
    script, exports = Script(case.replies), list[Export]()
    with model_stub(script) as stub, otlp_receiver(exports) as endpoint, tempfile.TemporaryDirectory() as home:
        variables = _variables(framework, stub, endpoint, home, environment)
        command = _command(name, framework, case, environment)
        done = subprocess.run(
            command, check=False, env=variables, timeout=LONGEST_RUN_S, capture_output=True, text=True, cwd=home
        )
    place = f"{name}/{case.name}"
    if done.returncode:
        raise CaptureError(f"{place}: the script ended with {done.returncode}:\n{done.stdout}\n{done.stderr}")
    if script.unanswered or script.unused:
        requests = "\n".join(text[:2000] for text in script.unanswered)
        replies = f"requests without a reply:\n{requests}\nreplies that nothing asked for: {script.unused}"
        raise CaptureError(f"{place}: {replies}\n{done.stdout}\n{done.stderr}")
    return [export for export in exports if export.signal != "metrics"]


def _command(name: str, framework: Framework, case: Case, environment: Path) -> list[str]:
    script = script_of(name, framework)
    if framework.language == "python":
        before = [str(environment / "bin" / word) for word in framework.command.split()]
        return [*(before or [str(environment / "bin" / "python")]), str(script), case.name]
    # Node resolves packages from the folder of the program.
    program = Path(shutil.copy(script, environment / script.name))
    return [shutil.which("node") or "node", *framework.command.split(), str(program), case.name]


def _variables(framework: Framework, stub: str, endpoint: str, home: str, environment: Path) -> dict[str, str]:
    """Returns the variables of a run: the keys and addresses of every model API, and none of this machine's."""
    own = framework.environment | framework.capture_environment
    return {
        "PATH": f"{environment / 'bin'}:{os.environ['PATH']}",
        "HOME": home,
        "LANG": "C.UTF-8",
        "NO_PROXY": "*",
        "STUB_URL": stub,
        "OTLP_URL": endpoint,
        "OPENAI_BASE_URL": f"{stub}/v1",
        "OPENAI_API_BASE": f"{stub}/v1",
        "OPENAI_API_KEY": "sk-stub",
        "ANTHROPIC_BASE_URL": stub,
        "ANTHROPIC_API_KEY": "sk-ant-stub",
        "GOOGLE_GEMINI_BASE_URL": stub,
        "GEMINI_API_KEY": "stub",
        "GOOGLE_API_KEY": "stub",
        "AWS_ENDPOINT_URL_BEDROCK_RUNTIME": stub,
        "AWS_ACCESS_KEY_ID": "stub",
        "AWS_SECRET_ACCESS_KEY": "stub",
        "AWS_REGION": "us-east-1",
        "AWS_DEFAULT_REGION": "us-east-1",
        **{variable: value.format(endpoint=endpoint, stub=stub) for variable, value in own.items()},
    }


def write(folder: Path, case: Case, number: int, export: Export, environment: Path) -> ExportFile:
    """Writes one request with neutral paths, and returns its line of the index."""
    ending = EXTENSIONS[export.content_type] + (".gz" if export.content_encoding == "gzip" else "")
    signal = "" if export.signal == "traces" else f".{export.signal}"
    file = f"{case.name}-{number:02}{signal}.{ending}"
    (folder / file).write_bytes(neutral_body(export, _neutral_paths(folder, environment)))
    return ExportFile(file, case.name, export.signal, export.content_type, export.content_encoding)


def _neutral_paths(folder: Path, environment: Path) -> dict[str, str]:
    standard_library = sysconfig.get_path("stdlib")
    return {
        str(folder.parent): "/app",
        str(environment): "/app/environment",
        standard_library: "/usr/lib/python3",
    }
