"""Who may change anything, which names we answer to, and what other sites can make a browser do."""

import re
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.dashboard.conftest import HOST, TOKEN, House
from tests.dashboard.seed import JOHN, SCOTT
from webordinary.core.errors import BadInput
from webordinary.core.job import Intent, JobState
from webordinary.dashboard.guard import BODY_BYTES_MAX, Keeper

DEEDS = [
    "/jobs/{dead}/redrive",
    "/jobs/{dead}/drop",
    "/lanes/amelia/scott/interrupt",
    "/lanes/amelia/scott/release",
    "/lanes/amelia/scott/ask",
    "/try",
    "/sign-out",
]
API_DEEDS = [
    "/api/jobs/{dead}/redrive",
    "/api/jobs/{dead}/drop",
    "/api/lanes/amelia/scott/interrupt",
    "/api/lanes/amelia/scott/release",
    "/api/jobs",
]


async def dead_job(house: House) -> str:
    (job,) = await house.backend.ledger.jobs(limit=1, state=JobState.DEAD)
    return job.id


async def csrf(client: httpx.AsyncClient) -> str:
    found = re.search(r'name="csrf" value="(\w+)"', (await client.get("/")).text)
    assert found is not None
    return found[1]


async def unchanged(house: House, counts: dict[JobState, int]) -> bool:
    lane = await house.backend.ledger.lane(SCOTT)
    running = await house.backend.ledger.jobs(limit=5, lane=SCOTT, state=JobState.RUNNING)
    stopped = any(job.interrupted for job in running)
    return await house.backend.ledger.counts() == counts and lane.worker is not None and not stopped


# --- the token --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", DEEDS + API_DEEDS)
async def test_nothing_is_changed_without_the_token(
    house: House, client: httpx.AsyncClient, path: str
) -> None:
    counts = await house.backend.ledger.counts()
    path = path.format(dead=await dead_job(house))
    for headers in ({}, {"origin": HOST}, {"authorization": "Bearer wrong"}, {"cookie": "webordinary-00=11"}):
        answer = await client.post(path, headers=headers)
        assert answer.status_code == 401, (path, headers)
        assert answer.headers["www-authenticate"] == "Bearer"
    assert await unchanged(house, counts)
    assert house.gateway.taken == []


async def test_the_token_in_the_address_signs_in_and_leaves_the_address(house: House) -> None:
    async with house.client() as client:
        assert (await client.get("/", params={"token": TOKEN + "x"})).status_code == 401
        assert not client.cookies
        answer = await client.get("/", params={"token": TOKEN})
        assert (answer.status_code, answer.headers["location"]) == (303, "/?notice=signed-in")
        cookie = answer.headers["set-cookie"]
        assert "HttpOnly" in cookie
        assert "SameSite=strict" in cookie
        assert TOKEN not in cookie
        assert "Sign out" in (await client.get("/")).text


async def test_the_token_in_the_form_signs_in(house: House) -> None:
    async with house.client(origin=HOST) as client:
        refused = await client.post("/sign-in", data={"token": "not this one"})
        assert refused.status_code == 401
        assert "not the token" in refused.text
        assert (await client.post("/sign-in", data={"token": f" {TOKEN} "})).status_code == 303
        assert (await client.post("/sign-out", data={"csrf": await csrf(client)})).status_code == 303
        assert "Sign in" in (await client.get("/")).text


def test_a_token_that_could_be_guessed_is_refused() -> None:
    with pytest.raises(BadInput):
        Keeper("short")


async def test_a_token_is_never_shown(operator: httpx.AsyncClient) -> None:
    for path in ("/", "/sign-in", "/api", "/jobs"):
        assert TOKEN not in (await operator.get(path)).text


# --- other sites ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "origin", ["", "null", "http://evil.example", "http://127.0.0.1:8080", "http://localhost:8025"]
)
async def test_a_site_on_another_port_can_not_act_on_the_dashboard(
    house: House, operator: httpx.AsyncClient, origin: str
) -> None:
    """To a browser, sites on other ports of this machine are the same site: they get to use our cookie."""
    counts, field = await house.backend.ledger.counts(), await csrf(operator)
    for path in [*DEEDS, *API_DEEDS]:
        answer = await operator.post(
            path.format(dead=await dead_job(house)), data={"csrf": field}, headers={"origin": origin}
        )
        assert answer.status_code == 403, path
    assert await unchanged(house, counts)


@pytest.mark.parametrize("field", ["", "0" * 64, "ü"])
async def test_a_form_needs_what_only_our_page_knows(
    house: House, operator: httpx.AsyncClient, field: str
) -> None:
    counts = await house.backend.ledger.counts()
    for path in DEEDS:
        answer = await operator.post(path.format(dead=await dead_job(house)), data={"csrf": field})
        assert answer.status_code == 403, path
    assert await unchanged(house, counts)


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:8025", "127.0.0.1.evil.example", "", "[::2]:1"]
)
async def test_a_name_that_was_made_to_lead_here_is_refused(client: httpx.AsyncClient, host: str) -> None:
    """DNS rebinding: the attacker's own name, pointed at this machine."""
    for path in ("/", "/api/jobs", "/events", "/static/page.js"):
        assert (await client.get(path, headers={"host": host})).status_code == 421


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost:9", "[::1]:8025", "LOCALHOST"])
async def test_names_of_this_machine_are_answered(client: httpx.AsyncClient, host: str) -> None:
    assert (await client.get("/", headers={"host": host})).status_code == 200


@pytest.mark.parametrize(
    "path", ["/", "/nowhere", "/api/status", "/api/nothing", "/static/style.css", "/healthz"]
)
async def test_every_answer_tells_the_browser_what_not_to_do(client: httpx.AsyncClient, path: str) -> None:
    headers = (await client.get(path)).headers
    policy = headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["cross-origin-resource-policy"] == "same-origin"
    assert "access-control-allow-origin" not in headers


async def test_no_page_needs_an_inline_script_or_style(client: httpx.AsyncClient) -> None:
    for path in ("/", "/pool", "/lanes/amelia/scott", "/metrics", "/mail"):
        page = (await client.get(path)).text
        assert not re.search(r"<script(?! src=)|<style|\sstyle=|\son\w+=\"", page)


async def test_a_body_beyond_all_measure_is_refused(client: httpx.AsyncClient) -> None:
    """With its length told and without."""
    declared = await client.post("/try", content=b"x", headers={"content-length": str(BODY_BYTES_MAX + 1)})
    assert declared.status_code == 413

    async def endless() -> AsyncIterator[bytes]:
        while True:
            yield b"x" * 1_000_000

    bearer = {"authorization": f"Bearer {TOKEN}"}
    streamed = await client.post("/api/jobs", content=endless(), headers=bearer)
    assert streamed.status_code == 413


# --- actions, with the token ------------------------------------------------------------------------


async def test_a_dead_job_is_redriven(house: House, operator: httpx.AsyncClient) -> None:
    job = await dead_job(house)
    answer = await operator.post(f"/jobs/{job}/redrive", data={"csrf": await csrf(operator)})
    assert (answer.status_code, answer.headers["location"]) == (303, f"/jobs/{job}?notice=redriven")
    assert "queued again" in (await operator.get(answer.headers["location"])).text
    again = await operator.post(f"/jobs/{job}/redrive", data={"csrf": await csrf(operator)})
    assert again.status_code == 403  # it is not dead any more


async def test_a_dead_job_is_dropped_by_the_api(house: House, client: httpx.AsyncClient) -> None:
    job, bearer = await dead_job(house), {"authorization": f"Bearer {TOKEN}"}
    answer = await client.post(f"/api/jobs/{job}/drop", headers=bearer)
    assert (answer.status_code, answer.json()) == (200, {"done": True})
    assert (await house.backend.ledger.counts())[JobState.DROPPED] == 1


async def test_a_running_job_is_stopped_and_a_lane_taken(house: House, operator: httpx.AsyncClient) -> None:
    field = {"csrf": await csrf(operator)}
    answer = await operator.post("/lanes/amelia/scott/interrupt", data=field)
    assert answer.headers["location"] == "/lanes/amelia/scott?notice=interrupted"
    (job,) = await house.backend.ledger.jobs(limit=1, lane=SCOTT)
    assert job.interrupted
    answer = await operator.post("/lanes/amelia/scott/release", data=field)
    assert answer.headers["location"] == "/lanes/amelia/scott?notice=released"
    assert not (await house.backend.ledger.lane(SCOTT)).owned_at(house.parts.clock.now())


async def test_a_publish_waits_for_the_job_that_runs(house: House, operator: httpx.AsyncClient) -> None:
    field = await csrf(operator)
    await operator.post("/lanes/amelia/scott/ask", data={"csrf": field, "intent": "publish"})
    publish, running = await house.backend.ledger.jobs(limit=2, lane=SCOTT)
    assert (publish.intent, publish.arrival) == (Intent.PUBLISH, "queue")
    assert (running.state, running.interrupted) == (JobState.RUNNING, False)


async def test_an_undo_is_a_job_like_any_other(house: House, operator: httpx.AsyncClient) -> None:
    field = await csrf(operator)
    answer = await operator.post("/lanes/bakery/john/ask", data={"csrf": field, "intent": "undo"})
    assert answer.status_code == 303
    (job,) = await house.backend.ledger.jobs(limit=1)
    assert (job.lane, job.intent) == (JOHN, Intent.UNDO)
    for lane, intent in (
        ("bakery/john", "edit"),
        ("bakery/john", ""),
        ("bakery/nobody", "undo"),
        ("no/one", "undo"),
    ):
        refused = await operator.post(f"/lanes/{lane}/ask", data={"csrf": field, "intent": intent})
        assert refused.status_code in {400, 404}
