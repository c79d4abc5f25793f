"""The demo agent as a run: what it tells, how it stops, and what is left when it did."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.agents.demo_room import asked, asked_aloud, contents, errand, room_in
from webordinary import samples
from webordinary.agents.demo import DemoAgent
from webordinary.agents.demo.requests import EXAMPLES
from webordinary.core.errors import NotFound
from webordinary.core.work import Broke, Declined, Earlier, EventKind, MailedFile, Room, Stopped, Worked
from webordinary.ports.agent import Agent

SLOW = "Change the heading 'Team' to 'Us'. Replace 'See you soon' with 'Bye'\ntake your time: 300 seconds"


def test_it_is_an_agent() -> None:
    agent: Agent = DemoAgent()
    assert agent.name == "demo"


async def test_it_tells_what_it_does(tmp_path: Path) -> None:
    events, result = await asked_aloud(room_in(tmp_path), "Change the title to X")
    assert isinstance(result, Worked)
    assert [(event.kind, event.text) for event in events] == [
        (EventKind.STARTED, "reading the site"),
        (EventKind.USED, "index.html: title"),
        (EventKind.USED, "index.html: h1"),
        (EventKind.ENDED, "done"),
    ]


async def test_pages_that_it_does_not_read_are_told(tmp_path: Path) -> None:
    room = room_in(tmp_path, {"index.html": "<title>A</title>", "big.html": "x" * 300_000})
    events, _ = await asked_aloud(room, "Change the title to X")
    assert [event.text for event in events if event.kind is EventKind.WARNED] == [
        "big.html was not looked into: it is larger than 256 kB"
    ]


async def test_a_slow_run_that_is_interrupted_keeps_what_it_did(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    run = await DemoAgent().start(errand(SLOW), room)
    async for event in run.events():
        if event.kind is EventKind.SAID:
            await run.interrupt()
    result = await run.result()
    assert result == Stopped("about.html: the heading “Team” is now “Us”")
    assert b"<h2>Us</h2>" in contents(room)["about.html"]
    assert b"See you soon" in contents(room)["index.html"]


async def test_a_slow_run_carries_everything_out_when_it_is_left_alone(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    assert isinstance(await asked(room, SLOW.replace("300", "0")), Worked)
    assert b"Bye" in contents(room)["index.html"]


async def test_an_interrupt_before_anything_was_done_changes_nothing(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    before = contents(room)
    run = await DemoAgent().start(errand("Change the title to X"), room)
    await run.interrupt()
    assert isinstance(await run.result(), Stopped)
    assert contents(room) == before


async def test_an_interrupt_after_the_end_changes_nothing(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    run = await DemoAgent().start(errand("Change the title to X"), room)
    result = await run.result()
    await run.interrupt()
    assert await run.result() is result
    assert isinstance(result, Worked)


async def test_a_cancelled_run_leaves_nothing_running(tmp_path: Path) -> None:
    run = await DemoAgent().start(errand(SLOW), room_in(tmp_path))
    waiting = asyncio.create_task(run.result())
    async for event in run.events():
        if event.kind is EventKind.SAID:
            waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert asyncio.all_tasks() == {asyncio.current_task()}


async def test_events_can_be_heard_late_and_twice(tmp_path: Path) -> None:
    run = await DemoAgent().start(errand("Change the title to X"), room_in(tmp_path))
    await run.result()
    heard = [[event async for event in run.events()] for _ in range(2)]
    assert heard[0] == heard[1]
    assert heard[0][-1].kind is EventKind.ENDED


async def test_a_tree_that_is_gone_may_be_there_the_next_time(tmp_path: Path) -> None:
    room = Room(tmp_path / "gone", tmp_path, tmp_path)
    result = await asked(room, "Change the title to X")
    assert isinstance(result, Broke)
    assert result.again


# --- the sample sites -------------------------------------------------------------------------------------


def sample(name: str, tmp_path: Path) -> Room:
    files = {
        str(path.relative_to(samples.folder(name))): path.read_bytes()
        for path in samples.folder(name).rglob("*")
        if path.is_file()
    }
    room = room_in(tmp_path, dict(files))
    (room.mail / "new.jpg").write_bytes(b"\xff\xd8\xff new")
    return room


@pytest.mark.parametrize("name", samples.NAMES)
@pytest.mark.parametrize(
    "instruction",
    [
        "Change the homepage title to Spring Sale",
        "Replace the hero photo with the attached one",
        "Add a paragraph 'New'",
    ],
)
async def test_every_sample_site_can_be_edited(tmp_path: Path, name: str, instruction: str) -> None:
    room = sample(name, tmp_path)
    result = await asked(room, instruction, MailedFile("new.jpg", "image/jpeg"))
    assert isinstance(result, Worked), result
    if "title" in instruction:
        page = contents(room)["index.html"].decode()
        assert "<title>Spring Sale</title>" in page
        assert "<h1>Spring Sale</h1>" in page, "people see the heading, not the tab"


async def test_the_starter_site_promises_what_is_true(tmp_path: Path) -> None:
    room = sample("starter", tmp_path)
    for instruction in (
        "Change the title to “Gardening with Grandpa”",
        "Add a paragraph “We meet on Sundays.” after the heading “Try one of these”",
        "Replace the photo with the attached one",
    ):
        assert instruction in contents(room)["index.html"].decode()
        assert isinstance(
            await asked(
                sample("starter", tmp_path / instruction[:5]),
                instruction,
                MailedFile("new.jpg", "image/jpeg"),
            ),
            Worked,
        )


def test_sample_sites_need_nothing_from_outside() -> None:
    for name in samples.NAMES:
        for path in samples.folder(name).rglob("*"):
            assert path.is_dir() or path.stat().st_size < 60_000, path
            assert path.suffix != ".py"
            if path.suffix in {".html", ".css"}:
                text = path.read_text()
                assert "<script" not in text
                assert "http" not in text
                assert 'href="/' not in text


def test_an_unknown_sample_is_named() -> None:
    with pytest.raises(NotFound, match="amelia, bakery, starter"):
        samples.folder("../core")


async def test_a_declined_mail_lists_examples_that_work(tmp_path: Path) -> None:
    result = await asked(room_in(tmp_path), "Make it nicer")
    assert isinstance(result, Declined)
    assert len(result.reason) < 1000, "replies show so much of it"
    assert len(result.reason.splitlines()) <= 12
    assert all(example in result.reason for example in EXAMPLES)


async def test_it_does_what_was_asked_before_as_well(tmp_path: Path) -> None:
    """Without taking its time again, and the newer word last: that one counts."""
    room = room_in(tmp_path)
    words = "Change the title to Old news. Change the heading 'Team' to 'Us'\ntake your time: 300 seconds"
    earlier = Earlier(words)
    run = await DemoAgent().start(replace(errand("Change the title to New"), earlier=(earlier,)), room)
    assert isinstance(await run.result(), Worked)
    assert b"<title>New</title>" in contents(room)["index.html"]
    assert b"<h2>Us</h2>" in contents(room)["about.html"]


async def test_what_was_asked_before_and_can_not_be_done_keeps_nothing_else_from_being_done(
    tmp_path: Path,
) -> None:
    room = room_in(tmp_path)
    asked_before = (Earlier("Make it look like autumn"),)
    run = await DemoAgent().start(replace(errand("Change the title to New"), earlier=asked_before), room)
    result = await run.result()
    assert isinstance(result, Worked)
    assert "What you asked before I can't do" in result.summary
    assert b"<title>New</title>" in contents(room)["index.html"]
