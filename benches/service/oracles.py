"""Does the time of an answer tell what the answer does not? Of a signature, and of somebody else's traces.

Run by hand: `python benches/service/oracles.py`. It prints medians and the p of a two-sided Mann-Whitney test: below
0.01 the two kinds can be told apart.
"""

from __future__ import annotations

import json
import math
import os
import random
import statistics
import sys
import tempfile
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from http.client import HTTPConnection
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from spanwise.auth.config import AuthorizationConfig, key_material
from spanwise.auth.key_ring import KeyRing
from spanwise.auth.minting import new_signing_key
from spanwise.auth.tokens import TokenVerifier
from spanwise.errors import UnauthenticatedError
from support.clients.otlp import export_request
from support.clients.tokens import as_caller, claims, jwks_file
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable

SIGNATURES = int(os.environ.get("BENCH_SIGNATURES", "20000"))
TOKENS = 500
"""Many, because where one token lies in memory is a difference too."""
READS = int(os.environ.get("BENCH_READS", "2000"))
ADDED = int(os.environ.get("BENCH_TRACES", "100000"))
PART = 500
JSON = {"Content-Type": "application/json"}


def p_value(first: list[float], second: list[float]) -> float:
    """Returns how likely two samples of one distribution differ at least this much (Mann-Whitney, two-sided)."""
    ordered = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    ranks, ties, place = 0.0, 0.0, 1
    for _, group in groupby(ordered, key=lambda pair: pair[0]):
        same = list(group)
        ranks += sum(which == 0 for _, which in same) * (place + (len(same) - 1) / 2)
        ties += len(same) ** 3 - len(same)
        place += len(same)
    a, b, n = len(first), len(second), len(first) + len(second)
    u = ranks - a * (a + 1) / 2
    deviation = math.sqrt(a * b / 12 * (n + 1 - ties / (n * (n - 1))))
    return math.erfc(abs(u - a * b / 2) / deviation / math.sqrt(2))


def compare(count: int, kinds: tuple[Callable[[int], object], Callable[[int], object]]) -> str:
    """Returns medians and p of two things that are done in turn, in random order, `count` times each."""
    taken: tuple[list[float], list[float]] = ([], [])
    order = [0, 1] * count
    random.Random(28).shuffle(order)
    for which in order:
        number = len(taken[which])
        begun = time.perf_counter_ns()
        kinds[which](number)
        taken[which].append((time.perf_counter_ns() - begun) / 1000)
    first, second = map(statistics.median, taken)
    return f"{first:9.2f} us {second:9.2f} us  difference {second - first:+7.3f} us  p = {p_value(*taken):.3f}"


def forged(token: str, place: int) -> str:
    """Returns a token whose signature has one wrong bit."""
    message, _, signature = token.rpartition(".")
    wrong = bytearray(urlsafe_b64decode(signature + "=="))
    wrong[place] ^= 1
    return f"{message}.{urlsafe_b64encode(wrong).rstrip(b'=').decode()}"


def signatures(algorithm: str) -> str:
    """Returns how long a refusal takes, the signature being wrong in its first byte, and in its last."""
    signing = new_signing_key(algorithm)
    config = AuthorizationConfig(
        verification_keys=[signing.public_text or signing.private_text.strip()], algorithm=algorithm
    )
    verifier = TokenVerifier(config, KeyRing(key_material(config)))
    tokens = [signing.sign(claims(f"user {number}", "traces:read")) for number in range(TOKENS)]
    verifier.verify(tokens[0])

    def wrong_at(place: int) -> Callable[[int], object]:
        refused = [forged(token, place) for token in tokens]

        def verify(number: int) -> None:
            try:
                verifier.verify(refused[number % TOKENS])
            except UnauthenticatedError:
                return
            raise AssertionError("a forged token was accepted")

        return verify

    return compare(SIGNATURES, (wrong_at(0), wrong_at(-1)))


def write(service: RunningService, user: str, count: int, first: int) -> None:
    """Stores `count` traces of `user`."""
    writer = {**JSON, **as_caller("writer", "traces:write")}
    for begin in range(first, first + count, PART):
        spans = []
        for number in range(begin, min(begin + PART, first + count)):
            export = json.loads(export_request(f"{number:032x}", "b" * 16, **{"user.id": user}))
            spans += export["resourceSpans"][0]["scopeSpans"][0]["spans"]
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
        service.http.post("/v1/traces", content=body, headers=writer).raise_for_status()


def foreign(service: RunningService) -> str:
    """Returns how long a caller waits for 404: of somebody else's trace, and of one that is not there."""
    connection = HTTPConnection("127.0.0.1", service.port)
    headers = as_caller("alice", "traces:read")

    def read(first: int) -> Callable[[int], object]:
        def ask(number: int) -> None:
            connection.request("GET", f"/traces/{first + number % 1000:032x}", headers=headers)
            answer = connection.getresponse()
            body = answer.read()
            assert (answer.status, json.loads(body)["error_code"]) == (404, "NOT_FOUND")

        return ask

    return compare(READS, (read(1), read(10_000_000)))


def own_search(service: RunningService) -> float:
    """Returns the median of what the service says a search of bob's takes, in ms."""
    taken = []
    for _ in range(200):
        answer = service.http.post("/traces/search", json={"limit": 20}, headers=as_caller("bob", "traces:read"))
        meta = answer.raise_for_status().json()["meta"]
        assert meta["total_count"] == 1000
        taken.append(meta["search_time_ms"])
    return statistics.median(taken)


def main() -> None:
    """Prints the figures."""
    say = sys.stdout.write
    say(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    for algorithm in ("RS256", "ES256", "HS256"):
        say(f"{algorithm}, wrong in the first byte, in the last: {signatures(algorithm)}\n")
        sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with RunningService(path / "data", "--authorization", is_ready=True, JWT_JWKS_FILE=jwks_file(path)) as service:
            write(service, "bob", 1000, 1)
            say(f"404 of a foreign trace, of none: {foreign(service)}\n")
            before = own_search(service)
            write(service, "carol", ADDED, 1_000_000)
            after = own_search(service)
            say(f"a search of bob's 1,000 traces: {before:.2f} ms; beside {ADDED:,} of carol's: {after:.2f} ms, ")
            say(f"ratio {after / before:.2f}\n")
            say(f"404 of a foreign trace, of none, then: {foreign(service)}\n")
            assert service.stop() == 0
    say(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
