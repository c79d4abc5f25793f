"""Using the page: it follows what happens without jumping, works by keyboard, and opens only to the token."""

import asyncio
import re
from collections.abc import Awaitable
from typing import TypeVar

from playwright.sync_api import expect

from tests.browser.conftest import PATIENCE_MS, Watched
from tests.dashboard.conftest import TOKEN, House
from tests.dashboard.seed import JOHN, TARA
from tests.dashboard.served import Served
from webordinary.core.claim import Claim, Delivery
from webordinary.core.job import Job, JobId, JobState
from webordinary.core.outcome import Done
from webordinary.core.work import AgentEvent, EventKind

T = TypeVar("T")
expect.set_options(timeout=PATIENCE_MS)


def do(server: Served, what: Awaitable[T]) -> T:
    """Do something in the loop that owns the store."""

    async def done() -> T:
        return await what

    assert server.loop is not None
    return asyncio.run_coroutine_threadsafe(done(), server.loop).result(PATIENCE_MS / 1000)


def house_of(server: Served) -> House:
    assert server.house is not None
    return server.house


async def running(house: House) -> Delivery:
    (view,) = await house.backend.ledger.jobs(limit=1, lane=JOHN, state=JobState.RUNNING)
    assert view.worker is not None
    job = Job(view.id, view.lane, view.instruction, view.message_id)
    return Delivery(Claim(JOHN, view.worker, view.fence), job, view.attempt)


# --- live -------------------------------------------------------------------------------------------


def test_a_new_job_appears_in_place(window: Watched, full: Served) -> None:
    """Without a reload, and without taking the focus from anybody."""
    page = window.page
    page.goto(f"{full.address}/jobs")
    expect(page.locator("#line")).to_have_text("live")
    page.evaluate("window.unreloaded = true")
    page.locator("td.words > a").first.focus()
    focused = page.evaluate("document.activeElement.textContent")
    job = Job(JobId("zz-fresh"), TARA, "Water the plants", "<fresh>")
    do(full, house_of(full).backend.broker.submit(job))
    expect(page.locator('tr[data-key="zz-fresh"]')).to_contain_text("Water the plants")
    assert page.evaluate("window.unreloaded")
    assert page.evaluate("document.activeElement.textContent") == focused


def test_a_running_jobs_words_and_end_are_followed(window: Watched, full: Served) -> None:
    page, house = window.page, house_of(full)
    delivery = do(full, running(house))
    page.goto(f"{full.address}/jobs/{delivery.job.id}")
    expect(page.locator("#line")).to_have_text("live")
    told = [AgentEvent(EventKind.SAID, "Almost <b>there</b>"), AgentEvent(EventKind.USED, "Edit about.html")]
    do(full, house.backend.journal.tell(delivery, told))
    expect(page.locator("#log li").last).to_contain_text("Edit about.html")
    expect(page.locator("#log")).to_contain_text("Almost <b>there</b>")
    lines = page.locator("#log li").count()
    do(full, house.backend.broker.settle(delivery, Done("The banner is up."), more=False))
    expect(page.locator("#job-state")).to_have_text("done")
    expect(page.locator("#announcer")).to_have_text("done")  # a screen reader is told
    expect(page.locator("#job-why")).to_contain_text("The banner is up.")
    assert page.locator("#log li").count() == lines


def test_a_page_that_nobody_sees_asks_for_nothing(window: Watched, full: Served) -> None:
    page = window.page
    page.goto(f"{full.address}/pool")
    expect(page.locator("#line")).to_have_text("live")
    seen = """hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(seen, True)
    expect(page.locator("#line")).to_have_text("paused")
    page.evaluate(seen, False)
    expect(page.locator("#line")).to_have_text("live")


def test_times_count_on(window: Watched, full: Served) -> None:
    page = window.page
    page.goto(f"{full.address}/pool")
    lease = page.locator("time[data-until]").first
    before = lease.text_content()
    expect(lease).not_to_have_text(before or "")


# --- hands and keys ---------------------------------------------------------------------------------


def test_the_keyboard_reaches_the_content_first(window: Watched, full: Served) -> None:
    page = window.page
    page.goto(f"{full.address}/lanes")
    page.keyboard.press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#main")).to_be_focused()


def test_the_tab_of_the_page_is_in_sight_on_a_phone(window: Watched, full: Served) -> None:
    """The menu is wider than a phone, and scrolls: one that hides where you are is no menu."""
    page = window.page
    page.set_viewport_size({"width": 320, "height": 700})
    page.goto(f"{full.address}/metrics")
    expect(page.locator(".bar nav [aria-current]")).to_be_in_viewport(ratio=0.99)


def test_a_dead_job_is_redriven_by_whoever_has_the_token(window: Watched, full: Served) -> None:
    page = window.page
    page.goto(f"{full.address}/dead")
    redrive = page.get_by_role("button", name="Redrive")
    expect(redrive).to_be_disabled()
    page.get_by_role("link", name="Sign in", exact=True).click()
    page.get_by_label("Token").fill("not the right one")
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("alert")).to_contain_text("not the token")
    window.problems.clear()  # the browser tells of a 401
    page.get_by_label("Token").fill(TOKEN)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("status")).to_contain_text("You can change things now")
    assert TOKEN not in page.url
    page.goto(f"{full.address}/dead")
    redrive.click()
    expect(page.get_by_role("status")).to_contain_text("queued again")
    expect(page.locator("#job-state")).to_have_text("queued")
    expect(page).not_to_have_url(re.compile("notice="))  # shown once, not at every reload


def test_a_mail_is_written_in_the_box_and_followed(window: Watched, full: Served) -> None:
    page, house = window.page, house_of(full)
    page.goto(f"{full.address}/?token={TOKEN}")
    page.get_by_label("From").select_option("bakery/john john@example.com")
    page.get_by_label("Subject").fill("Hello")
    page.get_by_label("What to change").fill("Bigger buns.")
    page.get_by_role("button", name="Send the mail").click()
    expect(page.get_by_role("heading", name="Your mail on its way")).to_be_visible()
    expect(page.locator("#steps [aria-current=step]")).to_contain_text("Mail sent")
    assert house.gateway.taken[-1][0] == "john@example.com"
