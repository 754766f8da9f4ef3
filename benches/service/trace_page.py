"""Measures how soon a large trace is usable in a browser, its scrolling, the speed of a search in it, and its size.

Run it by hand: `python benches/service/trace_page.py 10000 100000`. It needs Chromium, and the built user interface.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.browser.chromium import start_chromium
from support.clients.made_up_trace import MadeUpTrace, large_trace
from support.services.process import RunningService

if TYPE_CHECKING:
    from playwright.sync_api import Browser, CDPSession, Page

SIZES = (10_000, 100_000)
VALUE_BYTES = 4 * 1024 * 1024
SEARCHES = ("f", "find_order_7", "gpt", "no such order", "helper", "00ff")
FRAMES = 120
_MEBIBYTE = 1024 * 1024
log = sys.stdout.write

# The rows, and the time at which the first of them was in the page.
_WATCH = """
window.longTasks = [];
new PerformanceObserver((list) => longTasks.push(...list.getEntries().map((each) => each.duration)))
    .observe({ type: "longtask", buffered: true });
new MutationObserver((_, observer) => {
    if (document.querySelector('[role="row"][aria-level]') === null) return;
    observer.disconnect();
    requestAnimationFrame(() => (window.firstRows = performance.now()));
}).observe(document, { childList: true, subtree: true });
"""
_ANSWERED = """() => performance.getEntriesByType("resource")
    .find((each) => each.name.includes("detail=skeleton")).responseEnd"""
_SCROLL = """async () => {
    longTasks.length = 0;
    const scroller = document.querySelector('[role="treegrid"] [role="rowgroup"]');
    const frames = [];
    let rows = 0;
    let last = performance.now();
    for (let frame = 0; frame < 120; frame += 1) {
        scroller.scrollTop += frame < 60 ? 400 : scroller.scrollHeight / 80;
        await new Promise(requestAnimationFrame);
        const now = performance.now();
        frames.push(now - last);
        last = now;
        rows = Math.max(rows, document.querySelectorAll('[role="row"]').length);
    }
    frames.sort((one, other) => one - other);
    await new Promise((resolve) => setTimeout(resolve, 200));
    return { median: frames[60], p95: frames[114], longest: Math.max(0, ...longTasks), rows };
}"""
_TYPE = """async ([selector, text]) => {
    const input = document.querySelector(selector);
    const begin = performance.now();
    input.value = text;
    input.dispatchEvent(new Event("input", { bubbles: true }));
    await new Promise((resolve) => setTimeout(resolve));
    return performance.now() - begin;
}"""
_OPEN = """async () => {
    const begin = performance.now();
    document.querySelector('[role="row"][aria-level="2"]').click();
    const panels = () => [...document.querySelectorAll("[role=tabpanel]")];
    const filled = () => panels().some((each) => each.textContent.length > 1000);
    while (!filled()) await new Promise((resolve) => setTimeout(resolve, 1));
    return performance.now() - begin;
}"""


def measure_trace(browser: Browser, service: RunningService, count: int) -> None:
    """Prints the figures of a trace of `count` spans."""
    trace = large_trace(count)
    trace.send(service.http)
    for attempt in ("first", "again"):
        page, session = _open(browser, service, trace.trace_id)
        _wait_for_rows(page)
        worked = _work(session)
        answered = float(page.evaluate(_ANSWERED))
        shown = float(page.evaluate("window.firstRows"))
        waited = f"usable after {shown:.0f} ms, {shown - answered:.0f} ms after the response"
        log(f"{count} spans, {attempt}: {waited}; {worked:.0f} ms of work\n")
        if attempt == "first":
            page.close()
    before = _work(session)
    scrolled = page.evaluate(_SCROLL)
    worked = (_work(session) - before) / FRAMES
    figures = ", ".join(f"{name} {value:.1f}" for name, value in scrolled.items())
    log(f"  scroll: {figures}; {worked:.1f} ms of work a frame\n")
    for text in SEARCHES:
        before = _work(session)
        took = page.evaluate(_TYPE, ['input[type="search"]', text])
        log(f"  search {text!r}: {took:.0f} ms, {_work(session) - before:.0f} ms of work\n")
    session.send("HeapProfiler.collectGarbage")
    log(f"  heap: {page.evaluate('performance.memory.usedJSHeapSize') / _MEBIBYTE:.0f} MiB\n")
    page.close()


def measure_value(browser: Browser, service: RunningService) -> None:
    """Prints how long a span with a value of 4 MiB takes to open."""
    trace = MadeUpTrace()
    root = trace.add("run", "AGENT", duration=10)
    trace.add(
        "read_file", "TOOL", parent=root, start=1, attributes={"output.value": "words of a page " * (VALUE_BYTES // 16)}
    )
    trace.send(service.http)
    page, session = _open(browser, service, trace.trace_id)
    _wait_for_rows(page)
    before = _work(session)
    took = page.evaluate(_OPEN)
    worked = _work(session) - before
    length = page.evaluate("document.body.textContent.length")
    log(f"value of 4 MiB: opens in {took:.0f} ms, {worked:.0f} ms of work; {length} characters in the page\n")
    page.close()


def _work(session: CDPSession) -> float:
    """Returns the main thread's busy time in milliseconds, without the work of other threads."""
    metrics = session.send("Performance.getMetrics")["metrics"]
    return next(float(each["value"]) for each in metrics if each["name"] == "TaskDuration") * 1000


def _open(browser: Browser, service: RunningService, trace_id: str) -> tuple[Page, CDPSession]:
    page = browser.new_page(viewport={"width": 1440, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    page.add_init_script(_WATCH)
    page.goto(f"{service.url}/ui#/trace/{trace_id}")
    return page, session


def _wait_for_rows(page: Page) -> None:
    while page.locator('[role="row"][aria-level]').count() == 0:
        problem = page.get_by_role("alert")
        if problem.count() > 0:
            raise SystemExit(f"the page says: {problem.first.inner_text()}")
        page.wait_for_timeout(250)
    page.wait_for_timeout(500)


def main() -> None:
    """Measures the sizes of the command line."""
    sizes = [int(size) for size in sys.argv[1:]] or SIZES
    with (
        tempfile.TemporaryDirectory() as folder,
        RunningService(Path(folder) / "data") as service,
        start_chromium() as browser,
    ):
        for size in sizes:
            measure_trace(browser, service, size)
        measure_value(browser, service)


if __name__ == "__main__":
    main()
