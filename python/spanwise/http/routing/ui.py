"""The routes of the user interface. Each built file has its own route, so no request path reaches the file system."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from spanwise.errors import ConfigurationError
from spanwise.http.core.operation import Operation
from spanwise.http.core.route import Route
from spanwise.http.endpoints import ui
from spanwise.http.requests.media_types import HTML, PLAIN_TEXT
from spanwise.ui import PATH
from spanwise.ui.files import HASHED_NAMES, THIRD_PARTY

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

MEDIA_TYPES = {
    ".js": "text/javascript",
    ".css": "text/css",
    ".svg": "image/svg+xml",
    ".woff2": "font/woff2",
    ".txt": PLAIN_TEXT,
}
"""The media types of built files by suffix."""

LINKED_PATHS = frozenset({"/", PATH, f"{PATH}/"})
"""The paths that lead a browser to the page. Links on other sites may open them."""

PAGE_ROUTE = Route(
    "GET",
    PATH,
    ui.show_page,
    Operation("get_ui", "Shows the user interface", media_type=HTML),
    is_public=True,
)


def file_routes(files: Mapping[str, bytes]) -> Iterator[Route]:
    """Yields a route for each built file that the page may load, and one for the page's path with a trailing slash.

    The OpenAPI document omits these routes because their names change with every build.

    Args:
        files: the contents of the built files by path.

    Raises:
        ConfigurationError: a file has an unknown suffix.
    """
    redirect = Operation("get_ui_redirect", "Redirects to the user interface", success=307)
    yield Route("GET", f"{PATH}/", ui.redirect_to_page, redirect, is_public=True)
    for path, content in files.items():
        if not path.startswith(HASHED_NAMES) and path != THIRD_PARTY:
            continue
        media_type = MEDIA_TYPES.get(PurePosixPath(path).suffix)
        if media_type is None:
            raise ConfigurationError(f"user interface: expected one of {', '.join(MEDIA_TYPES)}, got `{path}`")
        handler = ui.file_handler(content, media_type, is_immutable=path.startswith(HASHED_NAMES))
        operation = Operation(f"get_ui_{path}", "Returns a file of the user interface", media_type=media_type)
        yield Route("GET", f"{PATH}/{path}", handler, operation, is_public=True)
