"""Live: changes are told at once, an agent's words as they come, and everything ends when it should."""

import asyncio
import json
from collections.abc import AsyncIterator

import httpx
import pytest

from tests.dashboard.conftest import House
from tests.dashboard.seed import JOHN, TARA
from tests.waiting import HANG_SECONDS
from webordinary.core.claim import Claim, Delivery
from webordinary.core.job import Job, JobId, JobState
from webordinary.core.outcome import Done
from webordinary.core.work import AgentEvent, EventKind
from webordinary.dashboard.app import serving


@pytest.fixture
async def line(house: House) -> AsyncIterator[httpx.AsyncClient]:
    """Real HTTP to a real server."""
    async with serving(house.app) as port, httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}") as client:
        yield client


async def events(answer: httpx.Response) -> AsyncIterator[tuple[str, object]]:
    name = ""
    async for line in answer.aiter_lines():
        if line.startswith("event: "):
            name = line[7:]
        elif line.startswith("data: "):
            yield name, json.loads(line[6:])


async def running_delivery(house: House) -> Delivery:
    (view,) = await house.backend.ledger.jobs(limit=1, lane=JOHN, state=JobState.RUNNING)
    assert view.worker is not None
    job = Job(view.id, view.lane, view.instruction, view.message_id)
    return Delivery(Claim(JOHN, view.worker, view.fence), job, view.attempt)


async def test_a_change_is_told_to_every_open_page(house: House, line: httpx.AsyncClient) -> None:
    async with (
        asyncio.timeout(HANG_SECONDS),
        line.stream("GET", "/events") as one,
        line.stream("GET", "/events") as two,
    ):
        assert one.headers["content-type"].startswith("text/event-stream")
        streams = [events(one), events(two)]
        for stream in streams:
            assert (await anext(stream))[0] == "ready"
        await asyncio.sleep(0.2)  # the first look of the hub is what later ones are compared with
        await house.backend.broker.submit(Job(JobId("fresh"), TARA, "do it", "<fresh>"))
        for stream in streams:
            assert await anext(stream) == ("changed", {"topics": ["work"]})


async def test_nobody_looks_at_the_store_while_no_page_is_open(house: House, line: httpx.AsyncClient) -> None:
    hub = house.app.state.hub
    async with asyncio.timeout(HANG_SECONDS):
        async with line.stream("GET", "/events") as answer:
            assert (await anext(events(answer)))[0] == "ready"
            assert hub._looking is not None
        while hub._looking is not None:
            await asyncio.sleep(0.05)


async def test_an_agents_words_are_told_as_they_come(house: House, line: httpx.AsyncClient) -> None:
    delivery = await running_delivery(house)
    job = delivery.job.id
    async with asyncio.timeout(HANG_SECONDS), line.stream("GET", f"/jobs/{job}/events?after=2") as answer:
        stream = events(answer)
        first = [(await anext(stream))[1]["text"] for _ in range(2)]  # type: ignore[index]
        assert first == ["There are four pages. I begin with the first.", "Edit index.html"]
        await house.backend.journal.tell(delivery, [AgentEvent(EventKind.SAID, "<b>Nearly</b> there\n")])
        name, told = await anext(stream)
        assert (name, told["text"], told["kind"]) == ("agent", "<b>Nearly</b> there\n", "said")  # type: ignore[index]
        await house.backend.broker.settle(delivery, Done("done"), more=False)
        assert await anext(stream) == ("ended", {})
        with pytest.raises(StopAsyncIteration):
            await anext(stream)


async def test_a_lost_line_goes_on_where_it_was(house: House, line: httpx.AsyncClient) -> None:
    job = (await running_delivery(house)).job.id
    headers = {"last-event-id": "3"}
    async with (
        asyncio.timeout(HANG_SECONDS),
        line.stream("GET", f"/jobs/{job}/events", headers=headers) as answer,
    ):
        _, told = await anext(events(answer))
        assert told["number"] == 4  # type: ignore[index]
    assert (await line.get("/jobs/nothing/events")).status_code == 404


async def test_open_streams_do_not_hold_up_a_stop(house: House) -> None:
    async with asyncio.timeout(HANG_SECONDS), httpx.AsyncClient() as client:
        async with serving(house.app) as port:
            request = client.build_request("GET", f"http://127.0.0.1:{port}/events")
            answer = await client.send(request, stream=True)
            assert (await anext(events(answer)))[0] == "ready"
        await answer.aclose()
