"""Continuous searches beside the actions of a test, and traces sent at the same time."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

from support.clients.otlp import export_request

if TYPE_CHECKING:
    import httpx

JSON = {"Content-Type": "application/json"}
WAIT_SECONDS = 90


class Searches:
    """Searches continuously until it is stopped.

    Attributes:
        stored: the number of acknowledged traces.
        count: the number of searches.
        failed: the responses that a store with at least that many traces cannot give.
        slowest: the duration of the slowest search, in seconds.
    """

    def __init__(self, http: httpx.Client, stored: int) -> None:
        self.stored = stored
        self.count = 0
        self.failed: list[tuple[int, str]] = []
        self.slowest = 0.0
        self._http = http
        self._is_over = threading.Event()
        self._thread = threading.Thread(target=self._work)
        self._thread.start()

    def end(self) -> None:
        self._is_over.set()
        self._thread.join()

    def _work(self) -> None:
        while not self._is_over.is_set():
            least, began = self.stored, time.monotonic()
            response = self._http.post("/traces/search", json={"limit": 20})
            self.slowest = max(self.slowest, time.monotonic() - began)
            self.count += 1
            if not response.is_success or response.json()["meta"]["total_count"] < least:
                self.failed.append((least, response.text[:500]))


def send(http: httpx.Client, searches: Searches, count: int) -> None:
    deadline = time.monotonic() + WAIT_SECONDS
    for number in range(searches.stored + 1, searches.stored + count + 1):
        body = export_request(f"{number:032x}", "0" * 15 + "1")
        while http.post("/v1/traces", content=body, headers=JSON).status_code == 503:
            assert time.monotonic() < deadline
        searches.stored = number
