"""`spanwise token`: creates keys and tokens for development without an identity provider."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any

import click

from spanwise.auth.minting import SIGNING_ALGORITHMS, new_signing_key, read_signing_key
from spanwise.cli.shared.commands import Commands
from spanwise.cli.shared.flags import errors_as_lines
from spanwise.errors import ConfigurationError

PRIVATE_FILE = 0o600
PUBLIC_FILE = 0o644
PRIVATE_FOLDER = 0o700
_OPTION_OF_CLAIM = {
    "sub": "--sub",
    "scopes": "--scope",
    "exp": "--minutes",
    "iat": "--minutes",
    "session_id": "--session-id",
    "aud": "--audience",
    "iss": "--issuer",
}


@click.group(cls=Commands)
def command() -> None:
    """Create keys and tokens for development."""


@command.command()
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Folder to write to.")
@click.option(
    "--algorithm",
    default="RS256",
    show_default=True,
    type=click.Choice(SIGNING_ALGORITHMS),
    help="Algorithm of the key.",
)
@errors_as_lines
def keygen(out: Path, algorithm: str) -> None:
    """Generate a key pair with its JWKS, or a shared secret for HS256. Existing files are never overwritten."""
    key = new_signing_key(algorithm)
    try:
        out.mkdir(mode=PRIVATE_FOLDER, parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigurationError(f"cannot create the folder `{out}`: {error.strerror}") from error
    if key.public_text is None:
        secret = out / "secret.txt"
        _write(secret, key.private_text, PRIVATE_FILE)
        verify, sign = f"JWT_ALGORITHM={algorithm} JWT_VERIFICATION_KEY_FILE={secret}", secret
    else:
        sign = out / "private.pem"
        _write(sign, key.private_text, PRIVATE_FILE)
        _write(out / "public.pem", key.public_text, PUBLIC_FILE)
        _write(out / "jwks.json", json.dumps({"keys": [key.jwk]}, indent=2) + "\n", PUBLIC_FILE)
        verify = f"JWT_JWKS_FILE={out / 'jwks.json'}"
    click.echo(f"{verify} spanwise serve --authorization")
    click.echo(f"spanwise token mint --key {sign} --sub me --scope traces:read")


@command.command()
@click.option(
    "--key", required=True, type=click.Path(path_type=Path, dir_okay=False), help="File with the signing key."
)
@click.option("--sub", required=True, help="User id of the caller.")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    help="Scopes of the token, such as `traces:read`, with spaces between. Repeatable.",
)
@click.option(
    "--minutes", default=60, show_default=True, type=click.IntRange(1), help="Lifetime of the token in minutes."
)
@click.option("--session-id", help="Session that the token is limited to.")
@click.option("--audience", help="Audience of the token (`aud`).")
@click.option("--issuer", help="Issuer of the token (`iss`).")
@click.option(
    "--claim",
    "claims",
    multiple=True,
    metavar="NAME=VALUE",
    help="A further claim; VALUE is JSON, or else text. Repeatable.",
)
@errors_as_lines
def mint(
    key: Path, sub: str, scopes: tuple[str, ...], minutes: int, claims: tuple[str, ...], **optional: str | None
) -> None:
    """Print a token signed with the key in a file. The type of the key determines the algorithm."""
    further = _further_claims(claims)
    try:
        text = key.read_text("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigurationError(
            f"cannot read the key file `{key}`; create one with `spanwise token keygen`"
        ) from error
    now = int(time.time())
    names = {"session_id": "session_id", "audience": "aud", "issuer": "iss"}
    given = further | {names[option]: value for option, value in optional.items() if value is not None}
    times = {"iat": now, "exp": now + 60 * minutes}
    click.echo(read_signing_key(text).sign({"sub": sub, "scopes": " ".join(scopes).split(), **given, **times}))


def _further_claims(texts: tuple[str, ...]) -> dict[str, Any]:
    """Returns the claims of `--claim`.

    Raises:
        ConfigurationError: a claim has no value, or has an option of its own.
    """
    claims: dict[str, Any] = {}
    for text in texts:
        name, is_claim, value = text.partition("=")
        if not (name and is_claim):
            raise ConfigurationError(f"expected --claim NAME=VALUE, got `{text}`")
        if name in _OPTION_OF_CLAIM:
            raise ConfigurationError(f"`--claim {name}=...` has its own option: `{_OPTION_OF_CLAIM[name]}`")
        try:
            claims[name] = json.loads(value)
        except ValueError:
            claims[name] = value
    return claims


def _write(path: Path, text: str, mode: int) -> None:
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, mode)
    except FileExistsError:
        raise ConfigurationError(f"`{path}` already exists; keys are never overwritten") from None
    except OSError as error:
        raise ConfigurationError(f"cannot write `{path}`: {error.strerror}") from error
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(text)
