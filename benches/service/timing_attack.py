"""Tests whether response times reveal the position of a wrong signature byte, or the existence of a foreign trace.

Run it by hand: `python benches/service/timing_attack.py`. It prints medians and the p-value of a two-sided Mann-Whitney
test. Below 0.01, the two cases can be distinguished.
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
"""Many tokens, because the memory address of a token also affects its time."""
READS = int(os.environ.get("BENCH_READS", "2000"))
ADDED = int(os.environ.get("BENCH_TRACES", "100000"))
BATCH = 500
JSON = {"Content-Type": "application/json"}


def p_value(first: list[float], second: list[float]) -> float:
    """Returns the p-value of a two-sided Mann-Whitney test."""
    ordered = sorted([(value, 0) for value in first] + [(value, 1) for value in second])
    ranks, ties, index = 0.0, 0.0, 1
    for _, group in groupby(ordered, key=lambda pair: pair[0]):
        same = list(group)
        ranks += sum(which == 0 for _, which in same) * (index + (len(same) - 1) / 2)
        ties += len(same) ** 3 - len(same)
        index += len(same)
    a, b, n = len(first), len(second), len(first) + len(second)
    u = ranks - a * (a + 1) / 2
    deviation = math.sqrt(a * b / 12 * (n + 1 - ties / (n * (n - 1))))
    return math.erfc(abs(u - a * b / 2) / deviation / math.sqrt(2))


def compare(count: int, kinds: tuple[Callable[[int], object], Callable[[int], object]]) -> str:
    """Times two operations in random order, `count` times each. Returns their medians and the p-value."""
    elapsed: tuple[list[float], list[float]] = ([], [])
    sequence = [0, 1] * count
    random.Random(28).shuffle(sequence)
    for which in sequence:
        number = len(elapsed[which])
        begun = time.perf_counter_ns()
        kinds[which](number)
        elapsed[which].append((time.perf_counter_ns() - begun) / 1000)
    first, second = map(statistics.median, elapsed)
    return f"{first:9.2f} us {second:9.2f} us  difference {second - first:+7.3f} us  p = {p_value(*elapsed):.3f}"


def forged(token: str, index: int) -> str:
    """Returns a token whose signature has one wrong bit."""
    message, _, signature = token.rpartition(".")
    wrong = bytearray(urlsafe_b64decode(signature + "=="))
    wrong[index] ^= 1
    return f"{message}.{urlsafe_b64encode(wrong).rstrip(b'=').decode()}"


def signatures(algorithm: str) -> str:
    """Compares the rejection times of signatures with a wrong first byte and a wrong last byte."""
    signing = new_signing_key(algorithm)
    config = AuthorizationConfig(
        verification_keys=[signing.public_text or signing.private_text.strip()], algorithm=algorithm
    )
    verifier = TokenVerifier(config, KeyRing(key_material(config)))
    tokens = [signing.sign(claims(f"user {number}", "traces:read")) for number in range(TOKENS)]
    verifier.verify(tokens[0])

    def wrong_at(index: int) -> Callable[[int], object]:
        forged_tokens = [forged(token, index) for token in tokens]

        def verify(number: int) -> None:
            try:
                verifier.verify(forged_tokens[number % TOKENS])
            except UnauthenticatedError:
                return
            raise AssertionError("a forged token was accepted")

        return verify

    return compare(SIGNATURES, (wrong_at(0), wrong_at(-1)))


def write(service: RunningService, user: str, count: int, first: int) -> None:
    """Stores `count` traces of `user`."""
    writer = {**JSON, **as_caller("writer", "traces:write")}
    for begin in range(first, first + count, BATCH):
        spans = []
        for number in range(begin, min(begin + BATCH, first + count)):
            export = json.loads(export_request(f"{number:032x}", "b" * 16, **{"user.id": user}))
            spans += export["resourceSpans"][0]["scopeSpans"][0]["spans"]
        body = json.dumps({"resourceSpans": [{"scopeSpans": [{"spans": spans}]}]})
        service.http.post("/v1/traces", content=body, headers=writer).raise_for_status()


def not_found(service: RunningService) -> str:
    """Compares the time of a 404 for another user's trace and for one that does not exist."""
    connection = HTTPConnection("127.0.0.1", service.port)
    headers = as_caller("alice", "traces:read")

    def read(first: int) -> Callable[[int], object]:
        def ask(number: int) -> None:
            connection.request("GET", f"/traces/{first + number % 1000:032x}", headers=headers)
            response = connection.getresponse()
            body = response.read()
            assert (response.status, json.loads(body)["error_code"]) == (404, "NOT_FOUND")

        return ask

    return compare(READS, (read(1), read(10_000_000)))


def own_search(service: RunningService) -> float:
    """Returns the median search time of bob's searches as reported by the service, in ms."""
    elapsed = []
    for _ in range(200):
        response = service.http.post("/traces/search", json={"limit": 20}, headers=as_caller("bob", "traces:read"))
        meta = response.raise_for_status().json()["meta"]
        assert meta["total_count"] == 1000
        elapsed.append(meta["search_time_ms"])
    return statistics.median(elapsed)


def main() -> None:
    log = sys.stdout.write
    log(f"load average {os.getloadavg()[0]:.1f}, {os.cpu_count()} cores\n")
    for algorithm in ("RS256", "ES256", "HS256"):
        log(f"{algorithm}, wrong in the first byte, in the last: {signatures(algorithm)}\n")
        sys.stdout.flush()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder)
        with RunningService(path / "data", "--authorization", is_ready=True, JWT_JWKS_FILE=jwks_file(path)) as service:
            write(service, "bob", 1000, 1)
            log(f"404 for another user's trace, for none: {not_found(service)}\n")
            before = own_search(service)
            write(service, "carol", ADDED, 1_000_000)
            after = own_search(service)
            log(f"search in bob's 1,000 traces: {before:.2f} ms; with {ADDED:,} traces of carol: {after:.2f} ms, ")
            log(f"ratio {after / before:.2f}\n")
            log(f"404 for another user's trace, for none, then: {not_found(service)}\n")
            assert service.stop() == 0
    log(f"load average {os.getloadavg()[0]:.1f}\n")


if __name__ == "__main__":
    main()
