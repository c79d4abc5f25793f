"""Every page in light, dark and on a phone: no errors, nothing wider than the screen, usable by everybody."""

from pathlib import Path

import pytest

from tests.browser.conftest import Watched
from tests.dashboard.conftest import TOKEN
from tests.dashboard.served import Served

AXE = (Path(__file__).parent / "axe.min.js").read_text()  # axe-core, MPL-2.0, as its first lines say
PAGES = [
    "/",
    "/pool",
    "/lanes",
    "/lanes?all=true",
    "/jobs",
    "/mail",
    "/mail/sent",
    "/dead",
    "/metrics",
    "/api",
    "/door",
]
WITH_SOMETHING = ["/lanes/amelia/scott", "{done}", "{running}", "{dead}", "{mail}", "{letter}", "/nowhere"]

FIRST_LINKS = {
    "{done}": ("/jobs?state=done", 'td.words a:has-text("No wait")'),
    "{running}": ("/jobs?state=running", "td.words a"),
    "{dead}": ("/jobs?state=dead", "td.words a"),
    "{mail}": ("/mail", 'td.words a:has-text("Bowl")'),
    "{letter}": ("/mail/sent", 'td a:text-is("done")'),
}


def open_page(watched: Watched, server: Served, path: str) -> None:
    page = watched.page
    listed, link = FIRST_LINKS.get(path, (path, ""))
    page.goto(server.address + listed)
    if link:
        page.locator(link).first.click()
    page.wait_for_load_state("load")


def findings(watched: Watched) -> list[str]:
    """What axe finds that would keep somebody out."""
    watched.page.evaluate(AXE)
    found = watched.page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found["violations"]
        if one["impact"] in {"serious", "critical"}
        for node in one["nodes"]
    ]


def too_wide(watched: Watched) -> int:
    return int(
        watched.page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    )


@pytest.mark.parametrize("path", PAGES + WITH_SOMETHING)
def test_a_full_page_looks_right_and_is_usable_by_everybody(
    watched: Watched, full: Served, path: str
) -> None:
    open_page(watched, full, path)
    assert findings(watched) == []
    assert too_wide(watched) == 0
    if path == "/nowhere":  # the browser itself complains about a page that is not there
        watched.problems.clear()


@pytest.mark.parametrize("path", PAGES)
def test_an_empty_page_looks_right_and_is_usable_by_everybody(
    watched: Watched, empty: Served, path: str
) -> None:
    open_page(watched, empty, path)
    assert findings(watched) == []
    assert too_wide(watched) == 0


def test_the_operators_pages_are_usable_by_everybody(watched: Watched, full: Served) -> None:
    """Signed in, there are buttons where there were none."""
    watched.page.goto(f"{full.address}/?token={TOKEN}")
    for path in ("/", "/lanes/amelia/scott", "/dead"):
        watched.page.goto(full.address + path)
        assert findings(watched) == []
