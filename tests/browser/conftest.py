"""Services to view and a browser to view them with. Screens are tested in `test_<screen>.py`."""

from __future__ import annotations

import os
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import pytest

from support.browser.chromium import PATIENCE_MILLISECONDS, start_chromium
from support.browser.observer import Observer
from support.browser.pictures import take_picture
from support.clients.tokens import as_admin, jwks_file
from support.servers.prefix_proxy import PrefixProxy
from support.services.browsed import copy_data_folder, filled_data_folder
from support.services.hosted import start_hosted
from support.services.process import RunningService

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Iterator, Sequence
    from pathlib import Path

    from playwright.sync_api import Browser, Page

Theme: TypeAlias = Literal["light", "dark"]
_FAILED = pytest.StashKey[bool]()


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """The browser that all tests share. Each page has its own context."""
    with start_chromium() as started:
        yield started


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A closed data folder with 20,000 made-up traces and all captured exports, to copy."""
    own = tmp_path_factory.getbasetemp()
    return filled_data_folder(own.parent if "PYTEST_XDIST_WORKER" in os.environ else own)


@pytest.fixture(scope="session")
def service(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with those traces and the components of `support.apps.components`, without authorization.

    Tests share it. Their additions have unique ids, and no test deletes anything.
    """
    folder = tmp_path_factory.mktemp("service")
    copy_data_folder(filled, folder / "data")
    with start_hosted(folder) as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def guarded(filled: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """The same with authorization. `support.clients.tokens` signs tokens for it."""
    folder = tmp_path_factory.mktemp("guarded")
    copy_data_folder(filled, folder / "data")
    with start_hosted(folder, "--authorization", JWT_JWKS_FILE=jwks_file(folder)) as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with an empty store and without components."""
    with RunningService(tmp_path_factory.mktemp("empty") / "data") as running:
        yield running
        assert running.stop() == 0


@pytest.fixture(scope="session")
def below_prefix(service: RunningService) -> Iterator[str]:
    """The address of `service` behind a proxy that serves it below a prefix and strips the prefix."""
    with PrefixProxy(service.port, "/tools/spanwise") as proxy:
        yield proxy.url


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RunningService]]:
    """Returns a function that starts a private service of the test, which it may stop or fill at will."""
    with ExitStack() as services:
        yield lambda *flags, **options: services.enter_context(RunningService(tmp_path / "data", *flags, **options))


@pytest.fixture
def visit(
    browser: Browser,
    start: Callable[..., RunningService],  # noqa: ARG001  # pages close before services stop, which would interrupt responses
    request: pytest.FixtureRequest,
) -> Iterator[Callable[..., Page]]:
    """Returns a function that opens the user interface: see `Visits.open`."""
    visits = Visits(browser)
    try:
        yield visits.open
        if request.node.stash.get(_FAILED, False):
            visits.take_pictures(request.node.name)
    finally:
        visits.close()
    assert visits.problems() == []


@pytest.fixture
def page(visit: Callable[..., Page], service: RunningService) -> Page:
    """The user interface of `service` at its lightest screen, in a window of 1280 by 800 pixels in the light theme."""
    return visit(service.url, "#/status")


class Visits:
    """The pages that a test opens. None of them may cause a problem that `Observer` detects."""

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._pages: list[Page] = []
        self._observers: list[Observer] = []

    def open(  # noqa: PLR0913  # the options of tests
        self,
        url: str,
        place: str = "",
        *,
        token: str | None = None,
        theme: Theme = "light",
        width: int = 1280,
        height: int = 800,
        expected: Sequence[str] = (),
        **options: Any,
    ) -> Page:
        """Opens the user interface in its own browser context, and returns the page.

        Args:
            url: the address of the service.
            place: the place in the page, such as `#/traces?sort=duration`.
            token: the token to enter in the sign-in form; None without a form.
            theme: `light` or `dark`.
            width: the width of the window, in pixels.
            height: the height of the window, in pixels.
            expected: patterns of problems that the test causes on purpose, such as `status of 401`.
            options: further options of Playwright's `new_context`.
        """
        options = {"timezone_id": "UTC", "locale": "en-GB", "reduced_motion": "reduce", **options}
        context = self._browser.new_context(viewport={"width": width, "height": height}, color_scheme=theme, **options)
        context.set_default_timeout(PATIENCE_MILLISECONDS)
        self._observers.append(Observer(context, url, expected))
        page = context.new_page()
        self._pages.append(page)
        page.goto(f"{url}/ui{place}")
        if token is not None:
            page.get_by_label("Token", exact=True).fill(token)
            page.get_by_role("button", name="Sign in").click()
        return page

    def problems(self) -> list[str]:
        return [problem for observer in self._observers for problem in observer.problems]

    def take_pictures(self, name: str) -> None:
        for number, page in enumerate(self._pages):
            if not page.is_closed():
                take_picture(page, f"failed-{name}-{number}")

    def close(self) -> None:
        for page in self._pages:
            page.context.close()


@pytest.fixture(scope="session")
def admin_token() -> str:
    """A token for `guarded` with all permissions."""
    return as_admin()["Authorization"].removeprefix("Bearer ")


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Records that a test failed, so that a screenshot of its pages is kept."""
    report = yield
    if report.when == "call":
        item.stash[_FAILED] = report.failed
    return report
