"""Genuine tokens for callers of a service with authorization."""

from __future__ import annotations

import json
import time
from functools import cache
from typing import TYPE_CHECKING

from spanwise.auth.config import ADMIN_SCOPE
from spanwise.auth.minting import SigningKey, new_signing_key

if TYPE_CHECKING:
    from pathlib import Path


_new_signing_key = cache(new_signing_key)


def signing_key(algorithm: str = "RS256") -> SigningKey:
    """Returns the key that signs the tokens; always the same key for an algorithm."""
    return _new_signing_key(algorithm)


def jwks_file(folder: Path) -> str:
    """Writes a JWKS file with the keys that verify the tokens and returns its path."""
    path = folder / "jwks.json"
    path.write_text(json.dumps({"keys": [signing_key().jwk, signing_key("ES256").jwk]}), "utf-8")
    return str(path)


def claims(sub: str, *scopes: str) -> dict[str, object]:
    """Returns the claims of a token that is valid for an hour, which is longer than a test run."""
    return {"sub": sub, "scopes": list(scopes), "exp": int(time.time()) + 3600}


def bearer(token: str) -> dict[str, str]:
    """Returns the `Authorization` header with a token."""
    return {"Authorization": f"Bearer {token}"}


def as_caller(sub: str, *scopes: str) -> dict[str, str]:
    """Returns the headers of a caller with these scopes."""
    return bearer(signing_key().sign(claims(sub, *scopes)))


def as_admin() -> dict[str, str]:
    """Returns the headers of an administrator."""
    return as_caller("root", ADMIN_SCOPE)
