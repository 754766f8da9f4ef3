"""A service with authorization but without usable keys does not start."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from support.clients.tokens import signing_key
from support.services.process import NO_DEFAULT_PORTS, RunningService

if TYPE_CHECKING:
    from pathlib import Path

SECRET = "a-secret-that-nobody-must-read"  # noqa: S105  # no service uses it
CASES = {
    "no key": ({}, "authorization is on, but there is no verification key"),
    "empty key": ({"JWT_VERIFICATION_KEY": ""}, "jwt_verification_key"),
    "short secret": ({"JWT_VERIFICATION_KEY": SECRET, "JWT_ALGORITHM": "HS256"}, "jwt_verification_key"),
    "a secret where a public key must be": ({"JWT_VERIFICATION_KEY": SECRET}, "jwt_verification_key"),
    "no such algorithm": ({"JWT_VERIFICATION_KEY": SECRET, "JWT_ALGORITHM": "none"}, "jwt_algorithm"),
    "a misspelt setting": ({"SPANWISE_JWT_VERIFICATION_KEYS": SECRET}, "SPANWISE_JWT_VERIFICATION_KEYS"),
    "a key under both names": (
        {"JWT_VERIFICATION_KEY": SECRET, "SPANWISE_JWT_VERIFICATION_KEY": SECRET},
        "expected one",
    ),
    "a key and a file of it": (
        {"JWT_VERIFICATION_KEY": SECRET, "JWT_VERIFICATION_KEY_FILE": "k"},
        "expected one of them",
    ),
    "an absent file of a key": (
        {"JWT_VERIFICATION_KEY_FILE": SECRET},
        "cannot read the file given by `jwt_verification_key",
    ),
    "a leeway of hours": ({"SPANWISE_JWT_LEEWAY": "7200", "JWT_VERIFICATION_KEY": SECRET}, "`jwt_leeway`"),
    "absent file": ({"JWT_JWKS_FILE": "absent.json"}, "jwt_jwks_file"),
    "a folder": ({"JWT_JWKS_FILE": "."}, "jwt_jwks_file"),
    "an address nobody answers": ({"JWT_JWKS_URL": "http://127.0.0.1:1/jwks"}, "jwt_jwks_url"),
}


@pytest.mark.parametrize("case", CASES)
def test_without_usable_keys_it_does_not_start(case: str, tmp_path: Path) -> None:
    variables, message = CASES[case]
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPANWISE_", "JWT_"))}
    done = subprocess.run(
        [sys.executable, "-m", "spanwise", "serve", "--authorization", "--data-dir", str(tmp_path / "data")],
        env=environment | NO_DEFAULT_PORTS | variables,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    assert message in done.stderr
    assert SECRET not in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "data").exists()


def test_keys_without_authorization_cause_a_warning(tmp_path: Path) -> None:
    key = signing_key().public_text or ""
    with RunningService(tmp_path / "data", JWT_VERIFICATION_KEY=key) as service:
        assert service.search().status_code == 200
        assert service.stop() == 0
    warning = "authorization is off although `jwt_verification_key` sets keys: tokens are not verified"
    assert warning in [event["message"] for event in service.events() if event["level"] == "warning"]
