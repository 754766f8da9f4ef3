"""Detects forbidden behaviour of our pages."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from playwright.sync_api import BrowserContext, ConsoleMessage, Dialog, Request, WebError

INLINE_SCHEMES = {"data", "blob", "about"}
"""Address schemes that cause no request."""
_REPORT = """
document.addEventListener("securitypolicyviolation", (event) =>
    reportViolation(`${event.effectiveDirective} blocked ${event.blockedURI || "inline"} ${event.sample}`));
"""


class Observer:
    """Collects console errors, uncaught errors, content policy reports, dialogs and requests to other hosts.

    Attributes:
        problems: the findings, as text.
    """

    def __init__(self, context: BrowserContext, url: str, expected: Sequence[str]) -> None:
        """Watches all pages of `context`.

        Args:
            context: the browser context.
            url: the address of the service; a request to any address outside it is a problem.
            expected: patterns of problems that the test causes on purpose.
        """
        self.problems: list[str] = []
        self._url = url.rstrip("/") + "/"
        self._expected = [re.compile(pattern) for pattern in expected]
        context.on("console", self._on_console)
        context.on("weberror", self._on_error)
        context.on("request", self._on_request)
        context.on("dialog", self._on_dialog)
        context.expose_binding("reportViolation", lambda _source, report: self._add(f"content policy: {report}"))
        context.add_init_script(_REPORT)

    def _add(self, problem: str) -> None:
        if not any(pattern.search(problem) for pattern in self._expected):
            self.problems.append(problem)

    def _on_console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning", "assert"}:
            self._add(f"console: {message.text} at {message.location.get('url')}")

    def _on_error(self, error: WebError) -> None:
        self._add(f"uncaught: {error.error}")

    def _on_request(self, request: Request) -> None:
        if urlsplit(request.url).scheme not in INLINE_SCHEMES and not request.url.startswith(self._url):
            self._add(f"request to elsewhere: {request.url}")

    def _on_dialog(self, dialog: Dialog) -> None:
        self._add(f"dialog: {dialog.message}")
        dialog.dismiss()
