"""Pages: complete with an empty store and a full one, in pages, and nothing that a mail says is ever run."""

import re
from dataclasses import replace
from html import unescape

import httpx
import pytest

from tests.dashboard.conftest import HOST, TOKEN, House
from tests.dashboard.seed import HOSTILE, LENA, PATCH, SCOTT, W1
from webordinary.core.claim import Claim
from webordinary.core.facts import Facts, PreviewFacts
from webordinary.core.job import Job, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import Letter, LetterKind, MailState
from webordinary.core.outcome import Done
from webordinary.dashboard.app import create_app
from webordinary.dashboard.charts import charts
from webordinary.dashboard.metrics import Metrics, Sample

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


async def text(client: httpx.AsyncClient, path: str, status: int = 200) -> str:
    answer = await client.get(path)
    assert answer.status_code == status, (path, answer.text[:500])
    return answer.text


async def job_in(house: House, state: JobState, *, with_facts: bool = False) -> JobId:
    jobs = await house.backend.ledger.jobs(limit=100, state=state)
    return next(job.id for job in jobs if not with_facts or (job.facts.preview and job.facts.preview.patch))


# --- empty and full ---------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [*PAGES, "/jobs?state=dead", "/mail?state=quarantined"])
async def test_every_page_teaches_when_there_is_nothing_yet(empty_house: House, path: str) -> None:
    async with empty_house.client() as client:
        page = await text(client, path)
    assert "<h1" in page
    if path not in {"/api", "/sign-in"}:
        assert 'class="empty"' in page or 'class="card empty"' in page


@pytest.mark.parametrize("path", PAGES)
async def test_every_page_shows_a_full_store(client: httpx.AsyncClient, path: str) -> None:
    page = await text(client, path)
    assert "<h1" in page
    assert not re.search(r"\{\{|\{%", page.replace("{{ 7 * 7 }}", ""))  # no template shines through


async def test_the_pool_shows_workers_with_what_they_do_now(client: httpx.AsyncClient) -> None:
    page = await text(client, "/pool")
    assert W1 in page
    assert "lease left" in page
    assert "has been on job" in page
    assert "draining" in page
    assert "1 of 4 slots taken" in page


async def test_lanes_show_state_depth_and_why(client: httpx.AsyncClient) -> None:
    page = await text(client, "/lanes")
    assert all(f"/lanes/{lane}" in page for lane in (SCOTT, LENA))
    assert "has been on job" in page
    assert "1 dead" in page
    assert "/lanes/amelia/tara" not in page
    assert "/lanes/amelia/tara" in await text(client, "/lanes?all=true")


async def test_a_lane_shows_its_owners_as_a_picture_and_in_words(client: httpx.AsyncClient) -> None:
    page = unescape(await text(client, "/lanes/amelia/scott"))
    assert re.search(
        r'<svg class="timeline".*?aria-label="Timeline of amelia/scott: \d+ claims', page, re.DOTALL
    )
    for kind in (
        "b-held",
        "b-running",
        "b-preempted",
        "k-claimed",
        "k-taken-over",
        "k-released",
        "k-interrupted",
    ):
        assert f"{kind}" in page
    assert "taken over" in page


async def test_a_job_shows_everything_it_left(house: House, client: httpx.AsyncClient) -> None:
    job = await job_in(house, JobState.DONE, with_facts=True)
    page = unescape(await text(client, f"/jobs/{job}"))
    assert "Spring Sale at Amelia Stone</title>" in page  # from the patch
    assert "There is new text on your home page: “Open Tuesday to Saturday”." in page
    assert "leads nowhere" in page
    assert f"/jobs/{job}/pictures/0/before" in page
    assert f"/mail/sent/done/{job}" in page
    patch = await client.get(f"/jobs/{job}/patch")
    assert (patch.text, patch.headers["content-type"]) == (PATCH, "text/plain; charset=utf-8")
    picture = await client.get(f"/jobs/{job}/pictures/0/after")
    assert picture.headers["content-type"] == "image/png"
    assert (await client.get(f"/jobs/{job}/pictures/7/after")).status_code == 404


async def test_a_job_shows_the_site_before_and_after_it_where_that_is_kept(house: House) -> None:
    """Today's site beside an old job would be a lie."""
    facts = Facts(preview=PreviewFacts("c1", "b" * 24, "a" * 24))
    job = Job(JobId("zz-released"), LENA, "Bigger letters", "<released>")
    await house.backend.broker.submit(job)
    claim = Claim(LENA, W1, 0)
    while (await house.backend.ledger.job(job.id)).state is not JobState.DONE:
        (claim,) = (await house.backend.broker.claim(W1, room=1, wait=0, only=LENA)).claims or (claim,)
        delivery = await house.backend.broker.next_job(claim, wait=0)
        assert delivery is not None
        await house.backend.broker.settle(delivery, Done("Done.", facts), more=True)

    async def kept(project: str, release: str) -> str:
        return f"http://sites.example/-/{project}/{release}/" if release[0] in still else ""

    async def shown(**parts: object) -> str:
        app = create_app(replace(house.parts, **parts), token=TOKEN)  # type: ignore[arg-type] # passed on
        async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url=HOST) as client:
            return await text(client, f"/jobs/{job.id}")

    still = "ab"
    page = await shown(kept=kept)
    frames = re.findall(r'<iframe src="([^"]+)" title="([^"]+)"', page)
    assert frames == [
        (f"http://sites.example/-/riverside-choir/{'a' * 24}/", "Before this job"),
        (f"http://sites.example/-/riverside-choir/{'b' * 24}/", "After this job"),
    ]
    still = "b"
    page = await shown(kept=kept)
    assert page.count("<iframe") == page.count("This release is not kept any more") == 1
    assert "<iframe" not in await shown(kept=None)


async def test_a_lane_that_the_operator_took_says_from_whom(house: House, client: httpx.AsyncClient) -> None:
    await house.backend.control.evict(SCOTT)
    page = re.sub(r"<[^>]+>", "", await text(client, "/lanes/amelia/scott"))
    assert f"released by the operator from {W1}" in page


async def test_a_letter_is_shown_as_it_was_sent(house: House, client: httpx.AsyncClient) -> None:
    job = await job_in(house, JobState.DONE, with_facts=True)
    page = unescape(await text(client, f"/mail/sent/done/{job}"))
    assert "your request is done." in page
    assert "sent as <done." in page
    await text(client, f"/mail/sent/help/{job}", 404)


async def test_a_confirming_address_is_not_for_everybody_who_may_look(
    house: House, client: httpx.AsyncClient, operator: httpx.AsyncClient
) -> None:
    """Whoever answers it says yes in a member's name."""
    await house.backend.outbox.owe(Letter("m-doubted", LetterKind.CONFIRM))
    house.story.letters["m-doubted", "confirm"] = b"Reply-To: edit+confirm-abc@localhost\n\nWas that you?\n"
    path = "/mail/sent/confirm/m-doubted"
    looked = await text(client, path)
    assert "confirm-abc" not in looked
    assert "those who signed in" in looked
    assert "confirm-abc" in await text(operator, path)


async def test_charts_tell_in_words_what_they_draw(client: httpx.AsyncClient) -> None:
    page = await text(client, "/metrics")
    labels = re.findall(r'<svg class="chart"[^>]*aria-label="([^"]+)"', page)
    assert len(labels) == 4
    assert any(re.match(r"Time to claim: \d+ claims: half within", label) for label in labels)
    assert any("taken over" in label for label in labels)


def test_samples_are_where_their_time_is() -> None:
    """Under an axis of time, evenly spaced dots tell something that did not happen."""
    times = (100.0, 101.0, 190.0)
    samples = [Sample(at, 0.1, "claimed", "amelia/scott") for at in times]
    chart = charts(Metrics(200.0, samples, [], [], [], {}))[0]
    room = chart.right - chart.left
    assert [(dot.x - chart.left) / room for dot in chart.dots] == pytest.approx([0.0, 0.01, 0.9])


# --- hostile words ----------------------------------------------------------------------------------


async def test_nothing_a_mail_says_becomes_a_part_of_a_page(house: House, client: httpx.AsyncClient) -> None:
    """Instructions, subjects, reasons, agents' words: all of it comes from strangers."""
    failed = await job_in(house, JobState.FAILED)
    mails = [mail.id for mail in await house.backend.mailbox.mails(limit=100) if HOSTILE in mail.subject]
    paths = [*PAGES, f"/jobs/{failed}", *(f"/mail/{mail}" for mail in mails), f"/mail/sent/failed/{failed}"]
    shown = 0
    for path in paths:
        page = await text(client, path)
        assert "<script>alert" not in page
        assert "<img src=x" not in page
        assert ">49<" not in page
        shown += page.count("&lt;script&gt;alert")
    assert shown >= 8


async def test_whose_mail_comes_back_is_shown_with_the_mail(house: House, client: httpx.AsyncClient) -> None:
    for number in range(3):
        assert "Replies come back" not in await text(client, "/mail")
        await house.backend.bounces.note("tara@example.com", f"letter {number}", "5.1.1 <script>alert")
    page = await text(client, "/mail")
    assert "tara@example.com: 3 letters" in page
    assert "<script>alert" not in page


async def test_raw_mail_is_text_that_no_browser_runs(house: House, client: httpx.AsyncClient) -> None:
    (mail,) = await house.backend.mailbox.mails(limit=1, state=MailState.QUARANTINED)
    raw = await client.get(f"/mail/{mail.id}/raw")
    assert b"<script>alert(1)</script>" in raw.content
    assert raw.headers["content-type"] == "text/plain; charset=utf-8"
    assert raw.headers["x-content-type-options"] == "nosniff"
    assert raw.headers["content-security-policy"].startswith("sandbox; default-src 'none'")


async def test_a_mails_picture_is_shown_and_nothing_else_of_it(
    house: House, client: httpx.AsyncClient
) -> None:
    mail = next(one for one in await house.backend.mailbox.mails(limit=100) if one.files)
    picture = await client.get(f"/mail/{mail.id}/files/0")
    assert picture.headers["content-type"] == "image/png"
    assert picture.headers["content-security-policy"].startswith("sandbox")
    assert (await client.get(f"/mail/{mail.id}/files/1")).status_code == 404


# --- in pages ---------------------------------------------------------------------------------------


async def test_lists_come_in_pages(empty_house: House) -> None:
    broker = empty_house.backend.broker
    for number in range(7):
        lane = Lane("amelia", f"u{number}")
        await broker.submit(Job(JobId(f"j{number}"), lane, f"do {number}", f"<{number}>"))
    async with empty_house.client() as client:
        for path, found in (
            ("/jobs?limit=3", r'<a href="/jobs/(j\d)"'),
            ("/lanes?limit=3", r"/lanes/amelia/(u\d)"),
        ):
            seen: list[str] = []
            next_path: str | None = path
            while next_path:
                page = unescape(await text(client, next_path))
                seen += dict.fromkeys(re.findall(found, page))
                link = re.search(r'href="([^"]+)" rel="next"', page)
                next_path = f"{link[1]}&limit=3" if link else None
            assert len(seen) == len(set(seen)) == 7


@pytest.mark.parametrize(
    "path",
    ["/jobs?limit=0", "/jobs?limit=x", "/jobs?state=nope", "/jobs?lane=x", "/lanes?after=%00/x",
     "/jobs?what=1", "/jobs?limit=1&limit=2", "/mail?state=x", "/mail/sent?before=nonsense", "/lanes/UPPER/x",
     "/lanes/live/x", "/pool?x=1"],
)  # fmt: skip
async def test_a_slip_in_an_address_is_told(client: httpx.AsyncClient, path: str) -> None:
    assert 'role="alert"' in await text(client, path, 400)


@pytest.mark.parametrize(
    "path",
    ["/nowhere", "/jobs/zzzz", "/jobs/%00", "/lanes/amelia/nobody", "/mail/zzz", "/mail/zzz/raw",
     "/try/zzz%21", "/jobs?before=zzz", "/mail?before=zzz", "/mail/sent?before=done:zzz", "/static/../app.py",
     "/static/nothing.js"],
)  # fmt: skip
async def test_what_is_not_there_is_told(client: httpx.AsyncClient, path: str) -> None:
    assert (await client.get(path)).status_code == 404


async def test_the_store_answers_for_our_health(client: httpx.AsyncClient, house: House) -> None:
    assert await text(client, "/healthz") == "ok\n"
    house.backend.close()
    answer = await client.get("/healthz")
    assert answer.status_code == 503
    assert "closed" in answer.text
