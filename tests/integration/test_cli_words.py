"""`publish`, `undo` and `redo` for somebody's lane, and what `job` tells about jobs that a mail asked for."""

from dataclasses import replace

import pytest

from tests.integration.cli_support import Home, home
from tests.reply.letters import MAIL
from webordinary.core.facts import Facts, LiveFacts, PreviewFacts
from webordinary.core.job import Intent, Job, JobId
from webordinary.core.lane import Lane
from webordinary.core.outcome import Done
from webordinary.core.page_changes import PageChange, PageChangeKind
from webordinary.core.site import Member, Project
from webordinary.ports.backend import Backend

__all__ = ["home"]

LANE = Lane("amelia", "scott")

NEW_PAGE = PageChange(PageChangeKind.PAGE_ADDED, "About")


@pytest.fixture
def onboarded(home: Home) -> Home:
    async def add(backend: Backend) -> None:
        await backend.directory.add_project(Project("amelia"))
        await backend.directory.add_member(Member(LANE, "scott@example.com"))

    home.ask(add)
    return home


@pytest.mark.parametrize("word", ["publish", "undo", "redo"])
@pytest.mark.parametrize("lane", ["amelia/nobody", "no/body"])
def test_a_lane_that_is_nobodys_is_refused_and_not_made(onboarded: Home, word: str, lane: str) -> None:
    assert "nobody who may edit a site" in onboarded.complained(word, lane, code=4)
    assert onboarded.json("lanes") == []


@pytest.mark.parametrize("word", ["publish", "undo", "redo"])
def test_whoever_does_not_wait_is_told_how_to_follow(onboarded: Home, word: str) -> None:
    said = onboarded.said(word, "amelia/scott")
    (job,) = onboarded.jobs()
    assert job.intent is Intent(word)
    assert f"job {job.id}" in said.splitlines()[-1]


def test_a_job_shows_the_message_id_that_people_know(onboarded: Home) -> None:
    async def submit(backend: Backend) -> None:
        await backend.mailbox.keep(replace(MAIL, lane=LANE))
        await backend.broker.submit(Job(JobId("j1"), LANE, "Change the title", MAIL.id))

    onboarded.ask(submit)
    assert f"mail {MAIL.id}, message id {MAIL.message_id}," in onboarded.said("job", "j1")
    shown = onboarded.json("job", "j1")
    assert (shown["mail"], shown["job"]["message_id"]) == (MAIL.id, MAIL.message_id)


def test_a_patch_that_was_not_asked_for_is_not_told_as_none(onboarded: Home) -> None:
    job = onboarded.served("amelia/scott", "x", Done())
    assert "diff" not in onboarded.json("job", job)
    assert onboarded.json("job", job, "--diff")["diff"] == ""


def test_what_was_published_is_live_and_no_preview(onboarded: Home) -> None:
    async def publish(backend: Backend) -> None:
        await backend.broker.submit(Job(JobId("j1"), LANE, "publish", "<1>", intent=Intent.PUBLISH))

    onboarded.ask(publish)
    live = Facts(live=LiveFacts("http://sites.example/live/amelia/", (NEW_PAGE,)))
    preview = Facts(preview=PreviewFacts("c1", address="http://sites.example/amelia/"))
    edited = onboarded.served("amelia/scott", "x", Done("", live), Done("", preview))
    published = onboarded.said("job", "j1")
    assert "live  http://sites.example/live/amelia/" in published
    assert "preview" not in published
    assert "There is a new page, “About”." in published
    assert "preview  http" in onboarded.said("job", edited)
