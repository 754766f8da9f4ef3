"""The cache of verified tokens never changes a result."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

from spanwise.auth import tokens
from spanwise.auth.config import AuthorizationConfig
from spanwise.auth.tokens import TokenVerifier
from support.clients.forged_tokens import (
    CLAIMS,
    NOW,
    SECRET,
    Clock,
    forge,
    is_accepted,
    key,
    verifier,
)

if TYPE_CHECKING:
    import pytest


def test_a_remembered_token_ends_when_it_expires() -> None:
    clock = Clock()
    verifying = TokenVerifier(AuthorizationConfig(leeway=0), verifier()._keys, clock)  # noqa: SLF001  # one key ring
    given = forge(claims={**CLAIMS, "exp": NOW + 5})
    assert is_accepted(verifying, given)
    clock.now = NOW + 4.9
    assert is_accepted(verifying, given)
    clock.now = NOW + 5
    assert not is_accepted(verifying, given)


def test_a_token_is_cached_for_a_minute_at_most() -> None:
    clock = Clock()
    verifying = TokenVerifier(AuthorizationConfig(), verifier()._keys, clock)  # noqa: SLF001
    first = verifying.verify(forge())
    for seconds, is_remembered in ((59.9, True), (60.0, False), (60.1, True)):
        clock.now = NOW + seconds
        again = verifying.verify(forge())
        assert (again is first) == is_remembered
        first = again
    clock.now = NOW
    assert verifying.verify(forge()) is not first, "a clock that was set back must not lengthen what is remembered"


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tokens, "MAX_CACHED_TOKENS", 8)
    verifying = verifier(verification_keys=[SECRET], algorithm="HS256")
    given = [forge(claims={**CLAIMS, "sub": f"user {each}"}, signing=key("own", "HS256")) for each in range(20)]
    for each in given:
        verifying.verify(each)
        assert len(verifying._cache) <= 8  # noqa: SLF001  # the test checks its size
    for bad in range(20):
        assert not is_accepted(verifying, given[0][:-4] + f"{bad:04}")
    assert verifying.verify(given[-1]) is verifying.verify(given[-1])


def test_the_cache_never_changes_a_result() -> None:
    """For any order of tokens and times, the result equals that without a cache."""
    rng = random.Random(7)
    clock = Clock()
    keys = verifier()._keys  # noqa: SLF001
    verifying = TokenVerifier(AuthorizationConfig(), keys, clock)
    given = [forge(claims={**CLAIMS, "exp": NOW + 20 * each, "nbf": NOW + 15 * each}) for each in range(1, 9)]
    given += [each[:-3] + "AAA" for each in given]
    for _ in range(600):
        clock.now += rng.choice([0.0, 0.1, 1.0, 3.0, -2.0])
        chosen = rng.choice(given)
        without_memory = TokenVerifier(AuthorizationConfig(), keys, clock)
        assert is_accepted(verifying, chosen) == is_accepted(without_memory, chosen)


def test_a_token_is_known_from_its_first_verification_until_it_is_rejected() -> None:
    clock = Clock()
    verifying = TokenVerifier(AuthorizationConfig(), verifier()._keys, clock)  # noqa: SLF001
    given, forged = forge(), forge(signing=key("other"))
    assert not verifying.knows(given)
    assert is_accepted(verifying, given)
    assert not is_accepted(verifying, forged)
    assert (verifying.knows(given), verifying.knows(forged)) == (True, False)
    clock.now = NOW + 300
    assert verifying.knows(given), "it is verified again, but its caller is no stranger"
    assert is_accepted(verifying, given)
    clock.now = CLAIMS["exp"] + 100
    assert not is_accepted(verifying, given)
    assert not verifying.knows(given), "or a token that has ended would be a way around the budget"


def test_nothing_that_is_no_token_is_known() -> None:
    for given in ("", "x", "a.b.c", "x" * 100_000, "\ud800"):
        assert not verifier().knows(given)
