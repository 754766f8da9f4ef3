"""The authorization guide from its first command on: a minted token is accepted."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

from support.documents import blocks_of, commands_of, words_of
from support.paths import ROOT
from support.services.printed import need_curl_and_jq, run_printed
from support.services.process import RunningService

if TYPE_CHECKING:
    from pathlib import Path

CREATE, SERVE, ASK = blocks_of(ROOT / "docs" / "authorization.md")[:3]


def test_a_minted_token_is_accepted_as_the_guide_says(tmp_path: Path) -> None:
    need_curl_and_jq()
    (keygen,) = commands_of(CREATE.text)
    command = [sys.executable, "-m", *keygen.line.split()]
    created = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert created.strip() == keygen.output.strip()
    assert SERVE.text.strip() == created.splitlines()[0]
    variable, _, path = SERVE.text.split()[0].partition("=")
    assert variable == "JWT_JWKS_FILE"
    with RunningService(tmp_path / "data", "--authorization", JWT_JWKS_FILE=str(tmp_path / path)) as service:
        for each in commands_of(ASK.text):
            assert words_of(run_printed(each, tmp_path, service)) == words_of(each.output), each.line
