"""Configuration without code: token verification and stores."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest

from spanwise.settings import TABLE
from support.clients.otlp import export_request
from support.clients.tokens import bearer, claims, jwks_file, signing_key
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

JSON = {"Content-Type": "application/json"}
TOML = """
[stores]
main = "{folder}/main"
other = "{folder}/other"
"""
TOKENS = """
authorization = true
jwt_audience = "here"
jwt_user_id_claim = "uid"
jwt_admin_scope = "root"
"""


def token(**payload: object) -> dict[str, str]:
    return bearer(signing_key().sign({**claims("alice", "traces:read"), "uid": "alice", **payload}))


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    folder = tmp_path_factory.mktemp("strict")
    config = folder / "spanwise.toml"
    config.write_text(TOKENS, "utf-8")
    variables = {"JWT_JWKS_FILE": jwks_file(folder), "SPANWISE_JWT_ISSUER": "us", "SPANWISE_JWT_REQUIRED_TYP": "JWT"}
    with RunningService(
        folder / "data", "--config", str(config), "--jwt-leeway", "0", is_ready=True, **variables
    ) as service:
        yield service
        assert service.stop() == 0


GOOD = {"aud": "here", "iss": "us"}


@pytest.mark.parametrize(
    ("payload", "status"),
    [
        (GOOD, 200),
        ({**GOOD, "aud": ["here", "there"]}, 200),
        ({**GOOD, "aud": "there"}, 401),
        ({"iss": "us"}, 401),
        ({**GOOD, "iss": "them"}, 401),
        ({**GOOD, "uid": ""}, 401),
        ({**GOOD, "exp": int(time.time()) - 60}, 401),
        ({**GOOD, "scopes": []}, 403),
        ({**GOOD, "scopes": ["agent_os:admin"]}, 403),
        ({**GOOD, "scopes": ["root"]}, 200),
    ],
)
def test_tokens_are_verified_as_file_environment_and_flags_say(
    strict: RunningService, payload: dict[str, object], status: int
) -> None:
    response = strict.http.get("/traces", headers=token(**payload))
    assert response.status_code == status, response.text


def test_isolation_is_switched_off_by_a_flag(start: Callable[..., RunningService], tmp_path: Path) -> None:
    service = start("--authorization", "--no-jwt-user-isolation", JWT_JWKS_FILE=jwks_file(tmp_path))
    headers = bearer(signing_key().sign(claims("alice", "traces:read", "traces:write")))
    export = export_request("a" * 32, "b" * 16)
    assert service.http.post("/v1/traces", content=export, headers={**JSON, **headers}).status_code == 200
    other = bearer(signing_key().sign(claims("bob", "traces:read")))
    assert service.http.get(f"/traces/{'a' * 32}", headers=other).status_code == 200


@pytest.mark.parametrize("source", ["toml", "flags", "environment"])
def test_stores_are_told_apart_by_db_id(start: Callable[..., RunningService], tmp_path: Path, source: str) -> None:
    config = tmp_path / "spanwise.toml"
    config.write_text(TOML.format(folder=tmp_path), "utf-8")
    flags = [f"--store=main={tmp_path}/main", f"--store=other={tmp_path}/other"]
    variables = {"SPANWISE_STORES": f"main={tmp_path}/main,other={tmp_path}/other"}
    if source == "toml":
        service = start("--config", str(config))
    else:
        service = start(*flags) if source == "flags" else start(**variables)
    for number, query in ((1, {}), (2, {"db_id": "main"}), (3, {"db_id": "other"})):
        export = export_request(f"{number:032x}", "b" * 16)
        service.http.post("/v1/traces", content=export, headers=JSON, params=query).raise_for_status()
    counts = {
        db_id: service.http.get("/traces", params={"db_id": db_id} if db_id else {}).json()["meta"]["total_count"]
        for db_id in ("", "main", "other")
    }
    assert counts == {"": 2, "main": 2, "other": 1}
    absent = service.http.get("/traces", params={"db_id": "absent"})
    assert (absent.status_code, absent.json()["error_code"]) == (404, "NOT_FOUND")
    assert service.stop() == 0
    assert not (service.data_dir / "traces").exists()
    for arguments, count in (([], 2), (["--db-id", "other"], 1)):
        done = command("delete", "{}", "--dry-run", *arguments, **variables)
        assert done.stdout == f"{count} trace{'s' if count > 1 else ''} would be deleted.\n"
    done = command("delete", str(service.data_dir), "{}", "--dry-run", **variables)
    assert "found no such folder" in done.stderr, "a folder that is named is not one of the stores"
    assert "there is no trace store named `absent`" in command("check", "--db-id", "absent", **variables).stderr


def command(*arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("SPANWISE_", "JWT_"))}
    return subprocess.run(
        [sys.executable, "-m", "spanwise", *arguments],
        env=environment | variables,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )


def test_settings_in_effect_are_told_without_secrets(strict: RunningService) -> None:
    assert strict.http.get("/settings", headers=token(**GOOD)).status_code == 403
    listed = strict.http.get("/settings", headers=token(**GOOD, scopes=["config:read"])).raise_for_status().json()
    values = {setting["name"]: setting["value"] for setting in listed}
    assert list(values) == [name for name, setting in TABLE.items() if not setting.is_secret]
    assert (values["authorization"], values["jwt_audience"], values["jwt_leeway"]) == (True, "here", 0.0)
    assert values["jwt_issuer"] == "us"
    assert not {"database_url", "jwt_verification_key"} & values.keys()
