"""Every page in light, dark and on a phone: no errors, nothing wider than the screen, usable by everybody."""

from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Watched
from tests.dashboard.conftest import TOKEN
from tests.dashboard.seed import TRIED
from tests.dashboard.served import Served

expect.set_options(timeout=PATIENCE_MS)
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
    "/sign-in",
]
WITH_SOMETHING = [
    "/lanes/amelia/scott",
    f"/try/{TRIED}",
    "{done}",
    "{running}",
    "{dead}",
    "{mail}",
    "{letter}",
    "/nowhere",
]

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
        expect(page).not_to_have_url(server.address + listed)
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


def test_a_form_that_comes_back_is_usable_by_everybody(watched: Watched, full: Served) -> None:
    page = watched.page
    page.goto(f"{full.address}/?token={TOKEN}")
    page.get_by_label("Subject").fill("Keep this")
    page.get_by_label("What to change").fill("   ")
    page.get_by_role("button", name="Send the mail").click()
    expect(page.get_by_role("alert")).to_contain_text("The mail is empty")
    expect(page.get_by_label("Subject")).to_have_value("Keep this")
    assert findings(watched) == []
    assert too_wide(watched) == 0
    watched.problems.clear()  # the browser tells of a 400


def test_nothing_is_wider_than_the_smallest_phone(window: Watched, full: Served) -> None:
    window.page.set_viewport_size({"width": 320, "height": 640})
    wide = {}
    for path in PAGES + WITH_SOMETHING:
        open_page(window, full, path)
        wide[path] = too_wide(window)
    assert {path: more for path, more in wide.items() if more} == {}
    window.problems.clear()  # the browser itself complains about a page that is not there


# --- pictures ---------------------------------------------------------------------------------------

CUT_OFF = """svg => [...svg.querySelectorAll("text")].filter(text => {
    const box = text.getBBox(), room = svg.viewBox.baseVal;
    return box.x < 0 || box.y < 0 || box.x + box.width > room.width || box.y + box.height > room.height;
}).map(text => text.textContent)"""


def test_no_word_of_a_picture_is_cut_off(watched: Watched, full: Served) -> None:
    for path, pictures in (("/metrics", "svg.chart"), ("/lanes/amelia/scott", ".layers > svg")):
        watched.page.goto(full.address + path)
        found = watched.page.locator(pictures)
        assert found.count() >= 2
        for picture in found.all():
            assert picture.evaluate(CUT_OFF) == []


def test_workers_are_named_beside_the_latest_of_a_lane(watched: Watched, full: Served) -> None:
    """On a phone the picture begins scrolled to now; whose line is whose must be in sight there too."""
    page = watched.page
    page.goto(f"{full.address}/lanes/amelia/scott")
    room = page.locator(".picture").bounding_box()
    assert room is not None
    names = page.locator(".names text")
    assert names.count() >= 3
    for name in names.all():
        box = name.bounding_box()
        assert box is not None
        assert box["x"] >= room["x"]
        assert box["x"] + box["width"] <= room["x"] + room["width"]
    scrolled = page.locator(".picture").evaluate("box => box.scrollWidth - box.clientWidth - box.scrollLeft")
    assert scrolled <= 1
