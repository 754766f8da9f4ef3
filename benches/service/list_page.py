"""Measures how soon the list of a million traces shows its first and thousandth page, and the size of a first visit.

Run it by hand: `python benches/service/list_page.py [DATA_FOLDER]`. It needs Chromium, and the built user interface.
Without a data folder it generates a million traces, which takes minutes.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.browser.chromium import start_chromium
from support.services.browsed import filled_data_folder
from support.services.process import RunningService

if TYPE_CHECKING:
    from playwright.sync_api import Browser

TRACES = 1_000_000
PAGES = (1, 1_000)
VISITS = 7
SLOW_NETWORK = {"offline": False, "latency": 150, "downloadThroughput": 1.6e6 / 8, "uploadThroughput": 0.75e6 / 8}
log = sys.stdout.write

# The time of the first painted row, and the layout shift since then.
_WATCH = """
window.shift = 0;
new PerformanceObserver((list) => {
    for (const each of list.getEntries()) if (!each.hadRecentInput) window.shift += each.value;
}).observe({ type: "layout-shift", buffered: true });
window.firstRow = new Promise((resolve) => new MutationObserver((_, observer) => {
    if (document.querySelector('a[href*="#/trace/"]') === null) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => resolve(performance.now())));
}).observe(document, { childList: true, subtree: true }));
"""
_REQUESTS = """() => performance.getEntriesByType("resource").map((each) => ({
    name: new URL(each.name).pathname, took: each.duration, bytes: each.encodedBodySize,
}))"""


def measure_visit(browser: Browser, url: str, *, is_slow: bool = False) -> dict[str, Any]:
    """Returns the milliseconds, bytes and layout shift of one visit of `url` with an empty cache."""
    context = browser.new_context(viewport={"width": 1440, "height": 900})
    page = context.new_page()
    if is_slow:
        session = context.new_cdp_session(page)
        session.send("Network.enable")
        session.send("Network.emulateNetworkConditions", SLOW_NETWORK)
    answers: list[float] = []
    page.on(
        "response",
        lambda response: (
            answers.append(response.json()["meta"]["search_time_ms"])
            if response.url.endswith("/traces/search")
            else None
        ),
    )
    page.add_init_script(_WATCH)
    page.goto(url)
    shown = float(page.evaluate("window.firstRow"))
    page.wait_for_timeout(500)
    requests = page.evaluate(_REQUESTS)
    search = next(each for each in requests if each["name"].endswith("/traces/search"))
    visit = {
        "shown": shown,
        "searched": answers[0],
        "answered": search["took"],
        "shift": page.evaluate("window.shift"),
        "bytes": sum(each["bytes"] for each in requests if each["name"].endswith((".js", ".css"))),
    }
    context.close()
    return visit


def measure(service: RunningService) -> None:
    """Prints the medians of several visits."""
    with start_chromium() as browser:
        for number in PAGES:
            url = f"{service.url}/ui#/traces?from=all&page={number}"
            visits = [measure_visit(browser, url) for _ in range(VISITS)]
            median = {name: statistics.median(visit[name] for visit in visits) for name in visits[0]}
            log(
                f"page {number}: searched in {median['searched']:.1f} ms, answered after {median['answered']:.0f} ms, "
                f"first row painted after {median['shown']:.0f} ms; layout shift {median['shift']:.4f}; "
                f"JS and CSS {median['bytes'] / 1000:.1f} kB compressed\n"
            )
        visit = measure_visit(browser, f"{service.url}/ui#/traces?from=all", is_slow=True)
        log(f"at 1.6 Mbit/s and 150 ms: first row painted after {visit['shown']:.0f} ms\n")


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(sys.argv[1]) if len(sys.argv) > 1 else filled_data_folder(Path(folder), TRACES)
        with RunningService(data) as service:
            measure(service)


if __name__ == "__main__":
    main()
