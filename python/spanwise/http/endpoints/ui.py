"""Serves the page of the user interface and the files that it loads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from starlette.responses import RedirectResponse

from spanwise.http.endpoints.static_page import static_response
from spanwise.http.requests.media_types import HTML
from spanwise.ui.files import PAGE, read_files

if TYPE_CHECKING:
    from starlette.requests import Request
    from starlette.responses import Response

    from spanwise.http.core.app_state import AppState
    from spanwise.http.core.route import Handler

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types svelte-trusted-html"
)
"""The content security policy of the page. Spans contain untrusted text, which must neither run nor load anything."""
_PAGE_HEADERS = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}
_IMMUTABLE = {"Cache-Control": "public, max-age=31536000, immutable"}
"""For files whose names contain a hash of their contents."""


async def show_page(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /ui`."""
    app_state.public_response_budget.admit()
    return static_response(request, read_files()[PAGE], HTML, _PAGE_HEADERS)


async def redirect_to_page(_request: Request, _body: bytes, _app_state: AppState) -> Response:
    """`GET /ui/`. The redirect is relative because a proxy may have stripped a path prefix."""
    return RedirectResponse("../ui", status_code=307)


def file_handler(content: bytes, media_type: str, *, is_immutable: bool) -> Handler:
    """Returns the handler of one file.

    Args:
        content: the file.
        media_type: its media type.
        is_immutable: True if the content at this path never changes.
    """

    async def show_file(request: Request, _body: bytes, app_state: AppState) -> Response:
        app_state.public_response_budget.admit()
        return static_response(request, content, media_type, _IMMUTABLE if is_immutable else None)

    return show_file
