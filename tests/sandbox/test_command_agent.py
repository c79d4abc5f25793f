"""Any program as an agent: what its exit code, its words and its end mean."""

import asyncio
from pathlib import Path

import pytest

from tests.sandbox.rooms import errand, run_script, script
from tests.waiting import HANG_SECONDS, until
from webordinary.agents.command import CommandAgent
from webordinary.core.work import EVENT_CHARACTERS, Broke, Declined, EventKind, Room, Stopped, Worked
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.sandbox import Sandbox
from webordinary.sandbox.unconfined import Unconfined

BOTH = pytest.mark.parametrize("sandbox", [Bubblewrap(), Unconfined()], ids=["bubblewrap", "unconfined"])


@BOTH
async def test_a_program_that_ends_well_has_worked(room: Room, sandbox: Sandbox) -> None:
    text = "echo I see $(cat $WEBORDINARY_MAIL/*); cat > index.html; echo; echo Done.; echo"
    told = await run_script(room, text, sandbox=sandbox)
    assert told.result == Worked("I see a photo\nDone.")
    assert [(event.kind, event.text) for event in told.events] == [
        (EventKind.SAID, "I see a photo"),
        (EventKind.SAID, "Done."),
    ]
    assert (room.tree / "index.html").read_text() == "change the title"


@BOTH
async def test_the_environment_is_a_clean_one(
    room: Room, sandbox: Sandbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
    told = await run_script(room, "env", sandbox=sandbox)
    names = {line.partition("=")[0] for line in told.text.splitlines()}
    ours = {"WEBORDINARY_JOB", "WEBORDINARY_TREE", "WEBORDINARY_MAIL"}
    assert names - {"PWD", "OLDPWD", "SHLVL", "_", "LC_CTYPE"} == {"PATH", "HOME", "TMPDIR", "LANG"} | ours


async def test_exit_65_declines_with_its_own_words(room: Room) -> None:
    told = await run_script(room, "echo I only know how to change titles.; exit 65")
    assert told.result == Declined("I only know how to change titles.")


@BOTH
async def test_any_other_exit_code_is_worth_another_attempt(room: Room, sandbox: Sandbox) -> None:
    told = await run_script(room, "echo no model answered >&2; exit 3", sandbox=sandbox)
    assert isinstance(told.result, Broke)
    assert told.result.again
    assert "exit code 3" in told.result.reason
    assert "no model answered" in told.result.reason


async def test_a_program_killed_by_a_signal_broke(room: Room) -> None:
    told = await run_script(room, "kill -9 $$")
    assert isinstance(told.result, Broke)
    assert "137" in told.result.reason


@BOTH
async def test_a_program_that_is_not_there_is_the_runs_result(room: Room, sandbox: Sandbox) -> None:
    run = await CommandAgent(["no-such-agent"], sandbox).start(errand(), room)
    assert [event async for event in run.events()] == []
    result = await run.result()
    assert isinstance(result, Broke)
    assert not result.again
    assert "'no-such-agent' is not there" in result.reason


async def test_a_script_named_as_an_argument_is_visible(room: Room, tmp_path: Path) -> None:
    helper = tmp_path / "helper.py"
    helper.write_text("print('helped')")
    run = await CommandAgent(["python3", str(helper)], Bubblewrap()).start(errand(), room)
    assert await run.result() == Worked("helped")


@BOTH
async def test_an_interrupted_program_may_say_a_last_word(room: Room, sandbox: Sandbox) -> None:
    text = (
        "trap 'echo half done; exit 0' TERM; echo x > index.html; touch ready; while :; do sleep 0.05; done"
    )
    agent = CommandAgent([str(script(room.tree.parent, text))], sandbox, grace_seconds=HANG_SECONDS)
    async with asyncio.timeout(HANG_SECONDS):
        run = await agent.start(errand(), room)
        await until((room.tree / "ready").exists)
        await run.interrupt()
        result = await run.result()
    assert isinstance(result, Stopped)
    assert "half done" in result.summary
    assert (room.tree / "index.html").read_text() == "x\n"


async def test_an_interrupt_after_the_end_changes_nothing(room: Room) -> None:
    run = await CommandAgent(["echo", "done"], Bubblewrap()).start(errand(), room)
    assert await run.result() == Worked("done")
    await run.interrupt()
    assert await run.result() == Worked("done")


async def test_events_are_bounded_and_harmless(room: Room) -> None:
    told = await run_script(
        room, "head -c 5000 /dev/zero | tr '\\0' x; printf '\\n\\033]0;pwned\\007\\377\\n'"
    )
    assert max(len(event.text) for event in told.events) <= EVENT_CHARACTERS
    assert "\x1b" not in told.text
