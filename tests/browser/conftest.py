"""A real browser on a real dashboard. Debian's Chromium; without it these tests skip, in CI they fail."""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from playwright.sync_api import Browser, Page, sync_playwright

from tests.dashboard.served import Served, served
from tests.needs import needs
from tests.waiting import HANG_SECONDS

LOOKS = {
    "light": {"viewport": {"width": 1360, "height": 900}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1360, "height": 900}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 390, "height": 844}, "color_scheme": "light", "has_touch": True},
}
PATIENCE_MS = 1000 * HANG_SECONDS


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    needs("chromium", "the pages are looked at in a real browser")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("full")) as one:
        yield one


@pytest.fixture(scope="module")
def empty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(tmp_path_factory.mktemp("empty"), full=False) as one:
        yield one


@dataclass(slots=True)
class Watched:
    """A page whose every complaint is kept."""

    page: Page
    problems: list[str] = field(default_factory=list)


@pytest.fixture(params=LOOKS)
def watched(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Watched]:
    """A page in light, in dark and on a phone; at the end nothing must have gone wrong in it."""
    context = browser.new_context(**LOOKS[request.param])  # type: ignore[arg-type] # options of a context
    context.set_default_timeout(PATIENCE_MS)
    one = Watched(context.new_page())
    watch(one)
    yield one
    context.close()
    assert one.problems == []


@pytest.fixture
def window(browser: Browser) -> Iterator[Watched]:
    """A page on a wide screen."""
    context = browser.new_context(viewport={"width": 1360, "height": 900})
    context.set_default_timeout(PATIENCE_MS)
    one = Watched(context.new_page())
    watch(one)
    yield one
    context.close()
    assert one.problems == []


def watch(one: Watched) -> None:
    def on_console(message) -> None:  # type: ignore[no-untyped-def] # noqa: ANN001 - Playwright's own type
        if message.type in {"error", "warning"}:
            one.problems.append(message.text)

    one.page.on("console", on_console)
    one.page.on("pageerror", lambda error: one.problems.append(str(error)))
