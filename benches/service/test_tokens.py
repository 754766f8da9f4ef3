"""The cost of verifying a token, cached and uncached."""

from __future__ import annotations

import time
from itertools import count
from typing import TYPE_CHECKING

import pytest

from spanwise.auth.config import AuthorizationConfig, key_material
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.minting import new_signing_key
from spanwise.auth.tokens import TokenVerifier

if TYPE_CHECKING:
    from pytest_benchmark.fixture import BenchmarkFixture

TOKENS = 64


@pytest.mark.parametrize("algorithm", ["RS256", "ES256", "HS256"])
@pytest.mark.parametrize("kind", ["cold", "cached"])
def test_verify(algorithm: str, kind: str, benchmark: BenchmarkFixture) -> None:
    signing = new_signing_key(algorithm)
    key = signing.public_text or signing.private_text.strip()
    config = AuthorizationConfig(verification_keys=[key], algorithm=algorithm)
    expires = int(time.time()) + 3600
    tokens = [
        signing.sign({"sub": f"user-{number}", "scopes": ["traces:read"], "exp": expires})
        for number in range(TOKENS if kind == "cold" else 1)
    ]
    numbers = count()
    verifier = TokenVerifier(config, KeyRing(key_material(config)))

    def fresh() -> tuple[tuple[TokenVerifier, str], dict[str, object]]:
        # A new verifier has an empty cache, so the token is verified.
        seen = TokenVerifier(config, KeyRing(key_material(config))) if kind == "cold" else verifier
        return (seen, tokens[next(numbers) % len(tokens)]), {}

    def verify(by: TokenVerifier, token: str) -> str:
        return by.verify(token).user_id

    assert verify(verifier, tokens[0]) == "user-0"
    benchmark.group = f"verify a token: {kind}"
    if kind == "cold":
        benchmark.pedantic(verify, setup=fresh, rounds=500, warmup_rounds=10)
    else:
        benchmark(verify, verifier, tokens[0])
