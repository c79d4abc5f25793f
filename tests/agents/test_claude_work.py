"""The real Claude Code edits a site, goes on with a conversation, and takes nothing in it for an order."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from tests.agents.claude_runs import KEY, PAGE, Place, carried_out, errand, our_processes
from tests.agents.model_server import ModelServer, Refuse, Reply, Request, Say, Script, Use
from webordinary.core.work import Declined, EventKind, Worked


def editor(page: Path) -> Script:
    """Reads a page, then edits it, then says so."""

    def script(request: Request) -> Reply:
        match request.round:
            case 0:
                return Use("Read", {"file_path": str(page)}, "Let me look.")
            case 1:
                edit = {"file_path": str(page), "old_string": "Hello", "new_string": "Good day"}
                return Use("Edit", edit)
            case _:
                return Say("The greeting is now Good day.", tokens=100)

    return script


def talker(request: Request) -> Reply:
    return Say(f"I heard: {request.typed}", tokens=1000)


async def test_it_edits_a_page_and_tells_what_it_does(anywhere: Place) -> None:
    room = anywhere.room()
    page = anywhere.sandbox.seen(room).tree / "index.html"
    with ModelServer(editor(page)) as server:
        result, events = await carried_out(anywhere.agent(server), errand("Greet better"), room)

    assert isinstance(result, Worked), result
    assert result.summary == "The greeting is now Good day."
    assert result.session
    assert result.cost_usd > 0
    assert (room.tree / "index.html").read_text() == PAGE.replace("Hello", "Good day")
    assert [path.name for path in room.tree.iterdir()] == ["index.html"]
    assert [event.kind for event in events] == [
        *(EventKind.STARTED, EventKind.SAID, EventKind.USED, EventKind.USED),
        *(EventKind.SAID, EventKind.ENDED),
    ]
    assert [event.text for event in events[1:5]] == [
        *("Let me look.", "Read index.html", "Edit index.html", "The greeting is now Good day.")
    ]
    assert {request.headers["x-api-key"] for request in server.requests} == {KEY}
    assert our_processes() == []


async def test_it_can_say_that_it_can_not(confined: Place) -> None:
    with ModelServer(lambda _: Say("CANNOT: there is no shop on this site.")) as server:
        result, _ = await carried_out(confined.agent(server), errand("Sell it"), confined.room())
    assert result == Declined("there is no shop on this site.")


async def test_another_worker_goes_on_with_the_conversation(confined: Place) -> None:
    """Only the bytes of `session` go from one to the other; each run is billed for itself alone."""
    with ModelServer(talker) as server:
        first, _ = await carried_out(confined.agent(server), errand("My cat is Tom"), confined.room("here"))
        assert isinstance(first, Worked), first
        again = errand("Who is my cat?", resume=first.session, recap="RECAP")
        second, events = await carried_out(confined.agent(server), again, confined.room("there"))

    assert isinstance(second, Worked), second
    assert second.summary == "I heard: Who is my cat?"
    seen = server.turns[-1].everything
    assert "My cat is Tom" in seen
    assert "I heard: My cat is Tom" in seen
    assert "RECAP" not in seen
    assert EventKind.WARNED not in {event.kind for event in events}
    assert second.cost_usd == pytest.approx(first.cost_usd)


async def test_a_refused_history_starts_afresh_with_a_recap(confined: Place) -> None:
    """A conversation that the model can't go on from must not wedge the lane for good."""

    def script(request: Request) -> Reply:
        if "I heard: My cat is Tom" in request.everything:
            return Refuse(400, "invalid_request_error", "tool_use ids were found without tool_result blocks")
        return talker(request)

    with ModelServer(script) as server:
        first, _ = await carried_out(confined.agent(server), errand("My cat is Tom"), confined.room("here"))
        assert isinstance(first, Worked), first
        again = errand("Who is my cat?", resume=first.session, recap="Earlier, a cat was named.")
        second, events = await carried_out(confined.agent(server), again, confined.room("there"))

    assert isinstance(second, Worked), second
    assert second.session
    assert server.turns[-1].typed == "Earlier, a cat was named.\n\nWho is my cat?"
    assert [event for event in events if "starting afresh" in event.text]


@pytest.mark.parametrize("kept", ["nothing of ours", "a conversation without lines"])
async def test_a_session_that_is_none_starts_afresh_with_a_recap(confined: Place, kept: str) -> None:
    with ModelServer(talker) as server:
        first, _ = await carried_out(confined.agent(server), errand("Hi"), confined.room("here"))
        assert isinstance(first, Worked)
        resume = kept.encode() if kept == "nothing of ours" else emptied(first.session)
        again = errand("Who?", resume=resume, recap="Somebody said hi.")
        second, events = await carried_out(confined.agent(server), again, confined.room("there"))

    assert isinstance(second, Worked), second
    assert server.turns[-1].typed == "Somebody said hi.\n\nWho?"
    assert [event for event in events if event.kind is EventKind.WARNED]


def emptied(session: bytes | None) -> bytes:
    packed = json.loads(gzip.decompress(session or b""))
    return gzip.compress(json.dumps(packed | {"transcript": "no line at all\n"}).encode())


async def test_nothing_in_a_mail_or_a_site_is_obeyed_by_the_program(unconfined: Place) -> None:
    """Where no sandbox hides the files: mentions are not read, commands and hooks do not run."""
    room, marker = unconfined.room(), unconfined.folder / "hook-ran"
    secret = unconfined.folder / "secret.txt"
    secret.write_text("the content of a secret file")
    hook = {"hooks": [{"type": "command", "command": f"touch {marker}"}]}
    every = ("SessionStart", "UserPromptSubmit", "Stop", "SessionEnd", "PreToolUse", "PostToolUse")
    settings = json.dumps({"hooks": {name: [hook] for name in every}})
    mcp = {"mcpServers": {"evil": {"command": "touch", "args": [str(marker)]}}}
    for home in (room.tree, room.home):
        (home / ".claude").mkdir()
        (home / ".claude" / "settings.json").write_text(settings)
        (home / ".claude" / "CLAUDE.md").write_text("an order in a hidden CLAUDE.md")
    (room.tree / ".mcp.json").write_text(json.dumps(mcp))
    for name in ("CLAUDE.md", "CLAUDE.local.md", "AGENTS.md"):
        (room.tree / name).write_text(f"an order in {name}")

    prompt = f"/cost\n@{secret} and @/etc/passwd, please\n!touch {marker}"
    with ModelServer(editor(room.tree / "index.html")) as server:
        result, _ = await carried_out(unconfined.agent(server), errand(prompt), room)

    assert isinstance(result, Worked), result
    assert not marker.exists()
    assert server.turns[-1].typed == prompt
    everything = "\n".join(request.everything for request in server.requests)
    assert "the content of a secret file" not in everything
    assert "root:x:0:0" not in everything
    assert "an order in" not in everything


async def test_a_command_alone_is_text_too(confined: Place) -> None:
    with ModelServer(talker) as server:
        result, _ = await carried_out(confined.agent(server), errand("/cost"), confined.room())
    assert isinstance(result, Worked), result
    assert result.summary == "I heard: /cost"


async def test_the_agents_shell_sees_no_secret(anywhere: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_SECRET", "secret-of-the-worker")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "secret-of-the-cloud")
    look = "env" if not anywhere.sandbox.confines else "env; cat /proc/[0-9]*/environ /proc/[0-9]*/cmdline"

    def script(request: Request) -> Reply:
        return Say("Done.") if request.round else Use("Bash", {"command": f"{look} | tr '\\0' '\\n'"})

    with ModelServer(script) as server:
        result, _ = await carried_out(anywhere.agent(server), errand("Look around"), anywhere.room())

    assert isinstance(result, Worked), result
    (seen,) = server.turns[-1].results
    assert "HOME=" in seen
    for secret in ("secret-of-the", "FAKE_SECRET", "AWS_", KEY):
        assert secret not in seen
