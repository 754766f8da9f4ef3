"""agno's own system tests, unmodified, from a checkout of its repository: its requests and its expectations."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from support.services.adapted import ENVIRONMENT
from support.services.hosted import start_hosted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from support.services.process import RunningService

CHECKOUT = os.environ.get("AGNO_CHECKOUT", "")
SYSTEM_TESTS = Path(CHECKOUT) / "libs" / "agno" / "tests" / "system" / "tests"
SECRET = "a secret of the tests, which is as long as HS256 wants it"  # noqa: S105  # the service lives for seconds
FILES = ("agents", "agentos", "config", "session", "teams", "traces", "workflows")
"""The subjects that a service supports. The others are memories, knowledge, evaluations, metrics and chat platforms."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not CHECKOUT, reason="AGNO_CHECKOUT does not name a checkout of github.com/agno-agi/agno"),
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("gateway")
    variables = {"ADAPTED_FOLDER": os.fspath(folder), "JWT_SECRET_KEY": SECRET, **ENVIRONMENT}
    with start_hosted(folder, module="support.apps.agno_gateway", **variables) as service:
        yield service
        assert service.stop() == 0


@pytest.mark.parametrize("subject", FILES)
def test_every_test_of_a_subject_passes(gateway: RunningService, subject: str, tmp_path: Path) -> None:
    arguments = ["-c", os.devnull, "--rootdir", os.fspath(SYSTEM_TESTS.parent), "-p", "no:cacheprovider"]
    arguments += ["-p", "support.programs.asyncio_tests", "-q"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments, os.fspath(SYSTEM_TESTS / f"test_{subject}_routes.py")],
        cwd=tmp_path,
        env={**os.environ, "GATEWAY_URL": gateway.url, "JWT_SECRET_KEY": SECRET, "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
