"""Serves the API documentation for people, rendered by Swagger UI and ReDoc.

Each page is self-contained, so it works offline and needs no folder of static files. Its content security policy allows
only its own scripts and requests to this service.
"""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING

from openapi_ui_bundles import redoc, swagger_ui
from starlette.responses import Response

from spanwise.http.endpoints.static_page import static_response
from spanwise.http.requests.media_types import HTML

if TYPE_CHECKING:
    from pathlib import Path

    from starlette.requests import Request

    from spanwise.http.core.app_state import AppState

_SWAGGER_START = """
window.onload = () => SwaggerUIBundle({
    url: "openapi.json", dom_id: "#description", validatorUrl: null, deepLinking: true,
});
"""
_REDOC_START = """
window.onload = () => Redoc.init("openapi.json", {disableSearch: true}, document.getElementById("description"));
"""
_LOGO = "https://cdn.redoc.ly/redoc/logo-mini.svg"
"""The logo that ReDoc loads from the internet. The page replaces its address."""
_NO_REDIRECT = "This service signs in with bearer tokens; nothing is redirected here."


async def show_swagger_ui(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /docs`."""
    folder: Path = swagger_ui.static_path
    app_state.public_response_budget.admit()
    return _page(request, _render(folder / "swagger-ui-bundle.js", folder / "swagger-ui.css", _SWAGGER_START))


async def show_redoc(request: Request, _body: bytes, app_state: AppState) -> Response:
    """`GET /redoc`."""
    app_state.public_response_budget.admit()
    return _page(request, redoc_page())


async def show_oauth2_redirect(_request: Request, _body: bytes, _app_state: AppState) -> Response:
    """`GET /docs/oauth2-redirect`: clients know this path, but no sign-in flow of this service uses it."""
    return Response(f"<!DOCTYPE html><title>Sign in</title><p>{_NO_REDIRECT}</p>", media_type=HTML)


def redoc_page() -> tuple[bytes, str]:
    """Returns the ReDoc page, which shows the `openapi.json` beside it, and its content security policy."""
    return _render(redoc.static_path / "redoc.standalone.js", None, _REDOC_START)


def _page(request: Request, rendered: tuple[bytes, str]) -> Response:
    html, policy = rendered
    return static_response(request, html, HTML, {"Content-Security-Policy": policy})


@cache
def _render(script: Path, style: Path | None, start: str) -> tuple[bytes, str]:
    """Returns a page and its content security policy."""
    # Only these two sequences are special in an HTML script element. JavaScript treats their escaped forms the same.
    inert = script.read_text("utf-8").replace("</script", "<\\/script").replace("<!--", "<\\!--")
    scripts = [inert.replace(_LOGO, "data:,"), start]
    css = style.read_text("utf-8") if style else ""
    elements = "".join(f"<script>{text}</script>" for text in scripts)
    html = (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>API</title>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="data:,">'
        f'<style>body {{ margin: 0; }}{css}</style></head><body><div id="description"></div>{elements}</body></html>'
    )
    digests = " ".join(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'" for text in scripts)
    policy = (
        f"default-src 'none'; script-src {digests}; style-src 'unsafe-inline'; img-src 'self' data:; font-src data:; "
        "connect-src 'self'; worker-src blob:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
    return html.encode(), policy
