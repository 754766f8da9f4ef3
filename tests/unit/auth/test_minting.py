"""Minted keys and tokens work with a service as the command prints them."""

from __future__ import annotations

import os
import shlex
import stat
from typing import TYPE_CHECKING

import jwt
import pytest
from click.testing import CliRunner
from cryptography.hazmat.primitives.asymmetric.ec import SECP256K1, generate_private_key
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from spanwise.auth.config import AuthorizationConfig, key_material
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.minting import SIGNING_ALGORITHMS, SigningKey, read_signing_key
from spanwise.auth.tokens import TokenVerifier
from spanwise.cli.token import command
from spanwise.errors import ConfigurationError
from spanwise.settings import load_settings
from support.clients.forged_tokens import key

if TYPE_CHECKING:
    from pathlib import Path


OTHER_CURVE = (
    generate_private_key(SECP256K1()).private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
)


def run(*arguments: str) -> str:
    outcome = CliRunner().invoke(command, arguments)
    assert outcome.exit_code == 0, outcome.output
    return outcome.output


@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_what_is_printed_works(algorithm: str, tmp_path: Path) -> None:
    serve, mint = run("keygen", "--out", str(tmp_path / "keys"), "--algorithm", algorithm).splitlines()
    *environ, program, verb, flag = shlex.split(serve)
    assert (program, verb, flag) == ("spanwise", "serve", "--authorization")
    config = AuthorizationConfig()
    keys = KeyRing(key_material(config, load_settings(environ=dict(each.split("=", 1) for each in environ))))
    program, verb, *arguments = shlex.split(mint)
    assert (program, verb) == ("spanwise", "token")
    verified = TokenVerifier(config, keys).verify(run(*arguments).strip())
    assert (verified.user_id, verified.scopes) == ("me", frozenset({"traces:read"}))
    assert verified.claims["exp"] - verified.claims["iat"] == 3600


def test_a_token_has_the_requested_claims(tmp_path: Path) -> None:
    run("keygen", "--out", str(tmp_path))
    config = AuthorizationConfig(jwks_file=str(tmp_path / "jwks.json"), audience="here", issuer="me")
    options = (
        "--sub alice --scope 'a:b c:d' --scope agent_os:admin --minutes 5 --session-id s --audience here --issuer me"
        " --claim team=blue --claim level=3"
    )
    token = run("mint", "--key", str(tmp_path / "private.pem"), *shlex.split(options)).strip()
    verified = TokenVerifier(config, KeyRing(key_material(config))).verify(token)
    assert (verified.user_id, verified.session_id, verified.scopes) == (
        "alice",
        "s",
        frozenset({"a:b", "c:d", "agent_os:admin"}),
    )
    assert (verified.claims["team"], verified.claims["level"]) == ("blue", 3)
    assert verified.claims["exp"] - verified.claims["iat"] == 300


@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_what_is_private_is_for_its_owner_only(algorithm: str, tmp_path: Path) -> None:
    umask = os.umask(0)
    try:
        run("keygen", "--out", str(tmp_path / "keys"), "--algorithm", algorithm)
    finally:
        os.umask(umask)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "keys").iterdir()}
    private = "secret.txt" if algorithm == "HS256" else "private.pem"
    assert modes.pop(private) == 0o600
    assert set(modes.values()) <= {0o644}
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o700


def test_a_key_is_never_overwritten(tmp_path: Path) -> None:
    run("keygen", "--out", str(tmp_path))
    before = (tmp_path / "private.pem").read_bytes()
    outcome = CliRunner().invoke(command, ["keygen", "--out", str(tmp_path)])
    assert outcome.exit_code == 1
    assert outcome.output == f"Error: `{tmp_path / 'private.pem'}` already exists; keys are never overwritten\n"
    assert (tmp_path / "private.pem").read_bytes() == before


def test_a_folder_that_takes_no_key_is_named(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.touch()
    outcome = CliRunner().invoke(command, ["keygen", "--out", str(file / "keys")])
    assert outcome.output == f"Error: cannot create the folder `{file / 'keys'}`: Not a directory\n"
    outcome = CliRunner().invoke(command, ["keygen", "--out", "/proc"])
    assert outcome.output == "Error: cannot write `/proc/private.pem`: No such file or directory\n"
    assert outcome.exit_code == 1


def test_a_key_is_not_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "private.pem").symlink_to(tmp_path / "elsewhere")
    assert CliRunner().invoke(command, ["keygen", "--out", str(tmp_path)]).exit_code == 1
    assert not (tmp_path / "elsewhere").exists()


def test_a_key_that_is_not_there_is_rejected(tmp_path: Path) -> None:
    outcome = CliRunner().invoke(command, ["mint", "--key", str(tmp_path / "absent"), "--sub", "me"])
    assert outcome.exit_code == 1
    absent = tmp_path / "absent"
    assert outcome.output == f"Error: cannot read the key file `{absent}`; create one with `spanwise token keygen`\n"


@pytest.mark.parametrize(
    "text",
    [
        "",
        "short",
        OTHER_CURVE,
        "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----",
        key("own").public_text or "",
    ],
)
def test_what_is_no_signing_key_is_rejected(text: str) -> None:
    with pytest.raises(ConfigurationError):
        read_signing_key(text)


@pytest.mark.parametrize("algorithm", SIGNING_ALGORITHMS)
def test_a_key_survives_writing_and_reading(algorithm: str) -> None:
    made = key("own", algorithm)
    read = read_signing_key(made.private_text)
    assert (read.algorithm, read.jwk) == (made.algorithm, made.jwk)


def test_the_name_of_a_key_is_its_thumbprint() -> None:
    """The example in section 3.1 of RFC 7638."""
    modulus = (
        "0vx7agoebGcQSuuPiLJXZptN9nndrQmbXEps2aiAFbWhM78LhWx4cbbfAAtVT86zwu1RK7aPFFxuhDR1L6tSoc_BJECPebWKRXjBZCiFV4n3"
        "oknjhMstn64tZ_2W-5JsGY4Hc5n9yBXArwl93lqt7_RN5w6Cf0h4QyQ5v-65YGjQR0_FDW2QvzqY368QQMicAtaSqzs8KJZgnYb9c7d0zgdA"
        "ZHzu6qMQvRL5hajrn1n91CbOpbISD08qNLyrdkt-bFTWhAI4vMQFh6WeZu0fM4lFd2NcRwr3XPksINHaQ-G_xBniIqbw0Ls1jF44-csFCur-"
        "kEgU8awapJzKnqDKgw"
    )
    jwk = {"kty": "RSA", "n": modulus, "e": "AQAB"}
    public = jwt.get_algorithm_by_name("RS256").from_jwk(jwk)

    class Private:
        def public_key(self) -> object:
            return public

    made = SigningKey("RS256", Private()).jwk  # type: ignore[arg-type]  # a name needs only the public half
    assert made
    assert made["kid"] == "NzbLsXh8uDCcd-6MNwXF4W_7noWXFZAfHkxZsRGC9Xs"
