"""The newcomer's minute, in a real browser on `webordinary up`: write a mail, watch it, see the page."""

import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Watched
from tests.needs import needs
from tests.sites.system import System
from tests.waiting import wait_until

expect.set_options(timeout=PATIENCE_MS)


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    needs("chromium", "the pages are looked at in a real browser")
    system = System(tmp_path_factory.mktemp("up") / "home")
    with system.up("--workers", "1"):
        wait_until(lambda: system.page("live/amelia/").status_code == httpx.codes.OK)
        yield system


def dashboard(system: System, *, token: bool = True) -> str:
    given = (Path(system.folder) / "dashboard.token").read_text().strip() if token else "x" * 32
    return f"http://127.0.0.1:{system.http_port}/?token={given}"


def test_a_mail_from_the_box_is_claimed_done_and_seen_on_the_page(system: System, window: Watched) -> None:
    page = window.page
    page.goto(dashboard(system))
    page.get_by_label("From").select_option(label="scott@example.com (amelia/scott)")
    page.get_by_label("What to change").fill("Change the homepage title to Spring Sale")
    page.get_by_role("button", name="Send the mail").click()
    steps = page.locator("#steps li.is-done")
    for step in ("claimed", "done", "reply"):
        expect(steps.filter(has_text=re.compile(step, re.IGNORECASE)).first).to_be_visible()
    assert "<title>Spring Sale</title>" in system.page("amelia/").text
    page.get_by_role("link", name="the job").first.click()
    expect(page.get_by_text("Spring Sale").first).to_be_visible()
    before = page.frame_locator('iframe[title="Before this job"]').locator("h1")
    after = page.frame_locator('iframe[title="After this job"]').locator("h1")
    expect(after).to_have_text("Spring Sale")
    expect(before).to_have_count(1)
    expect(before).not_to_have_text("Spring Sale")
    page.goto(f"http://127.0.0.1:{system.site_port}/amelia/")
    expect(page).to_have_title("Spring Sale")


def test_without_the_token_nothing_can_be_sent(system: System, window: Watched) -> None:
    page = window.page
    known = system.json("mails")
    page.goto(f"http://127.0.0.1:{system.http_port}/")
    expect(page.get_by_role("button", name="Send the mail")).to_be_disabled()
    expect(page.get_by_text("token").first).to_be_visible()  # it says what is missing
    refused = page.request.post(
        f"http://127.0.0.1:{system.http_port}/api/lanes/amelia/scott/release",
        headers={"Origin": f"http://127.0.0.1:{system.http_port}"},
    )
    assert refused.status == httpx.codes.UNAUTHORIZED
    assert system.json("mails") == known


def test_a_wrong_token_is_refused(system: System, browser: object) -> None:
    answer = httpx.get(dashboard(system, token=False), follow_redirects=True)
    assert answer.status_code in {401, 403}
    assert not answer.cookies


def test_a_script_of_a_site_can_not_act_on_the_dashboard(system: System) -> None:
    """Sites are another origin, though on the same machine; a cookie alone opens nothing."""
    with httpx.Client() as client:
        client.get(dashboard(system), follow_redirects=True)
        assert client.cookies
        answer = client.post(
            f"http://127.0.0.1:{system.http_port}/api/jobs/none/redrive",
            headers={"Origin": f"http://127.0.0.1:{system.site_port}"},
        )
    assert answer.status_code == httpx.codes.FORBIDDEN
