"""What people are told: one sentence when something is wrong, JSON when they ask for it, no surprises."""

import contextlib
import json
import os
import pty
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.integration.cli_support import Home, home
from tests.waiting import HANG_SECONDS
from webordinary.core.outcome import Done, Retry
from webordinary.entrypoints.cli.main import build_parser, main
from webordinary.entrypoints.cli.reference import every_parser

__all__ = ["home"]

STORE = "webordinary.db"


@pytest.fixture
def used(home: Home) -> Home:
    """A home with a job done, one dead and one waiting."""
    home.served("amelia/scott", "first", Done("it is so"))
    home.served("bakery/john", "second", Retry("not today"), Retry("not today"))
    home.served("amelia/scott", "third")
    return home


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("lane", "rule"),
    [
        ("amelia", "write it as PROJECT/USER"),
        ("Amelia/scott", "lower-case"),
        ("amelia/sc ott", "lower-case"),
        ("amelia/scott/x", "lower-case"),
        ("amelia#scott", "write it as PROJECT/USER"),
        ("аmelia/scott", "lower-case"),  # a Cyrillic a
        ("/scott", "is empty"),
        ("amelia/", "is empty"),
        ("live/scott", "reserved"),
        ("a" * 60 + "/scott", "at most"),
    ],
)
def test_a_lane_that_cannot_be_is_refused_with_the_rule_it_breaks(
    lane: str, rule: str, home: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["submit", lane, "x", "--home", str(home.folder)]) == 2
    assert rule in capsys.readouterr().err
    assert not (home.folder / STORE).exists()


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        (("why", "no/body"), 4, "nothing was ever submitted to no/body"),
        (("interrupt", "no/body"), 4, "nothing was ever submitted to no/body"),
        (("release", "no/body"), 4, "nothing was ever submitted to no/body"),
        (("jobs", "--lane", "no/body"), 4, "nothing was ever submitted to no/body"),
        (("job", "zzz"), 4, "there is no job zzz"),
        (("jobs", "--before", "zzz"), 4, "there is no job zzz"),
        (("dead", "redrive", "zzz"), 4, "there is no job zzz"),
        (("dead", "drop"), 2, "name the jobs, or say --all"),
        (("submit", "a/b", " "), 2, "the instruction is empty"),
        (("submit", "a/b", "x", "--id", ""), 2, "a message id has"),
        (("submit", "a/b", "x" * 200_001), 2, "more than 200,000 characters"),
        (("submit", "a/b", "half \udc80"), 2, "a character that is no text"),
        (("worker", "--slots", "0"), 2, "--slots must be a whole number from 1 to 1000"),
        (("worker", "--", "no-such-program"), 2, "there is no program 'no-such-program'"),
        (("worker", "--handler", "command"), 2, "the command handler needs a program"),
        (("worker", "--handler", "echo", "--", "true"), 2, "drop one of the two"),
        (("up", "--", "no-such-program"), 2, "there is no program 'no-such-program'"),
    ],
)
def test_what_is_refused_is_refused_in_one_sentence(
    words: tuple[str, ...], code: int, sentence: str, used: Home, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(used.words(*words)) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith("webordinary: ")
    assert sentence in said.err
    assert len(said.err.splitlines()) == 1


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("no-such-command",),
        ("submit", "a/b"),
        ("submit", "a/b", "x", "--wait", "soon"),
        ("submit", "a/b", "x", "--wait", "-1"),
        ("submit", "a/b", "x", "--wait", "nan"),
        ("submit", "a/b", "x", "--policy", "whatever"),
        ("jobs", "--limit", "0"),
        ("jobs", "--limit", "many"),
        ("jobs", "--state", "asleep"),
        ("dead",),
        ("worker", "--handler", "magic"),
        ("status", "--hom", "x"),
    ],
)
def test_bad_usage_is_exit_code_2_with_a_hint(
    words: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as left:
        main(words)
    assert left.value.code == 2
    assert "usage: webordinary" in capsys.readouterr().err


def test_looking_at_a_home_that_is_not_there_does_not_make_one(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    assert "there is nothing in" in home.complained("status", code=4)
    assert not (home.folder / STORE).exists()


def test_standard_input_that_is_no_text_is_refused(home: Home) -> None:
    ran = subprocess.run(
        home.command("submit", "a/b", "-"),
        input=b"\xff\xfe",
        env=home.environment,
        capture_output=True,
        check=False,
    )
    assert ran.returncode == 2
    assert b"is not UTF-8 text" in ran.stderr


def test_a_dead_job_moves_only_as_its_state_allows(used: Home) -> None:
    done = used.json("jobs", "--state", "done")[0]["id"]
    assert "only a dead job can become" in used.complained("dead", "redrive", done, code=4)


# --- a store that can't be used -------------------------------------------------------------------


def test_a_newer_schema_is_refused_in_a_sentence_that_says_what_to_do(used: Home) -> None:
    with contextlib.closing(sqlite3.connect(used.folder / STORE)) as connection:
        connection.execute("PRAGMA user_version = 999")
    for words in (("status",), ("submit", "a/b", "x"), ("worker",), ("up",)):
        complaint = used.complained(*words, code=3)
        assert "has schema version 999" in complaint
        assert "Nothing was changed" in complaint
        assert len(complaint.splitlines()) == 1


def test_a_file_that_is_no_store_is_refused(home: Home) -> None:
    (home.folder / STORE).write_text("this is a shopping list, and a long one at that\n" * 100)
    complaint = home.complained("status", code=3)
    assert "not a database" in complaint
    assert (home.folder / STORE).read_text().startswith("this is a shopping list")


def test_a_home_that_is_a_file_is_refused(home: Home) -> None:
    path = home.folder / "file"
    path.write_text("")
    home.folder = path
    assert "can't" in home.complained("submit", "a/b", "x", code=3)


# --- JSON -----------------------------------------------------------------------------------------


def test_every_command_that_prints_data_prints_json(used: Home) -> None:
    job = used.json("jobs")[0]["id"]
    dead = used.json("dead", "list")[0]["id"]
    asked = {
        "submit": used.json("submit", "amelia/scott", "x"),
        "status": used.json("status"),
        "lanes": used.json("lanes"),
        "jobs": used.json("jobs"),
        "job": used.json("job", job),
        "why": used.json("why", "amelia/scott"),
        "interrupt": used.json("interrupt", "amelia/scott", code=1),
        "release": used.json("release", "amelia/scott", code=1),
        "dead": used.json("dead", "show", dead),
    }
    assert asked["status"]["jobs"] == {**asked["status"]["jobs"], "queued": 2, "done": 1, "dead": 1}
    assert asked["lanes"][0]["lane"] == "amelia/scott"
    assert asked["lanes"][1]["dead"] == 1
    assert asked["job"]["job"]["submitted_at"] > 1e9
    assert asked["why"]["why"]["cause"] == "no worker"
    assert [one["lane"] for one in used.json("why")] == ["amelia/scott"]


def test_every_command_has_a_home_or_needs_none_and_speaks_json() -> None:
    """A script must not have to know which commands do."""
    parsers = [one for one in every_parser(build_parser()) if one.get_default("run") or " dead " in one.prog]
    commands = [one for one in parsers if not any(action.dest == "verb" for action in one._actions)]
    without = {one.prog for one in commands if "--json" not in one.format_help()}
    assert without == set()
    homeless = {one.prog for one in commands if "--home" not in one.format_help()}
    assert homeless <= {"webordinary simulate"}


def test_lists_come_in_pages(used: Home) -> None:
    newest, *older = used.json("jobs")
    assert used.json("jobs", "--before", newest["id"]) == older
    assert used.json("jobs", "--limit", "1") == [newest]
    assert [lane["lane"] for lane in used.json("lanes", "--after", "amelia/scott")] == ["bakery/john"]


def test_status_can_be_watched_as_json_lines(used: Home) -> None:
    with used.started("status", "--watch", "--json") as watching:
        assert watching.stdout is not None
        pictures = [json.loads(watching.stdout.readline()) for _ in range(2)]
    assert pictures[0]["now"] < pictures[1]["now"]


# --- terminals and pipes --------------------------------------------------------------------------


def test_a_reader_that_has_seen_enough_is_no_error(used: Home) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        ran = subprocess.run(
            used.command("jobs"), env=used.environment, stdout=writing, stderr=subprocess.PIPE, check=False
        )
    finally:
        os.close(writing)
    assert (ran.returncode, ran.stderr) == (0, b"")


def on_a_terminal(home: Home, *words: str, **environment: str) -> str:
    """What a command prints when a terminal listens."""
    terminal, end = pty.openpty()
    try:
        subprocess.run(
            home.command(*words),
            env=home.environment | {"TERM": "xterm"} | environment,
            stdout=end,
            stderr=end,
            check=True,
        )
        return os.read(terminal, 65536).decode()
    finally:
        os.close(end)
        os.close(terminal)


def test_colours_are_for_terminals_and_for_those_who_want_them(used: Home) -> None:
    assert "\x1b[" in on_a_terminal(used, "jobs", NO_COLOR="")
    assert "\x1b[" not in on_a_terminal(used, "jobs", NO_COLOR="1")
    assert "\x1b[" not in on_a_terminal(used, "jobs", NO_COLOR="", TERM="dumb")
    assert "\x1b[" not in used.said("jobs")


def test_an_instruction_cannot_give_orders_to_a_terminal(home: Home) -> None:
    """Instructions come from strangers: what they write is shown, never obeyed."""
    job = home.submitted("amelia/scott", "\x1b]0;owned\x07 \x1b[2J hello")
    for words in (("jobs",), ("job", job), ("status",)):
        said = home.said(*words)
        assert "\x1b" not in said
        assert "\x07" not in said
    assert "hello" in home.said("job", job)


def test_ctrl_c_is_no_traceback(home: Home) -> None:
    with home.started("submit", "a/b", "x", "--wait", "60") as waiting:
        assert waiting.stdout is not None
        assert waiting.stdout.readline().startswith("job ")
        assert "no worker is running" in waiting.stdout.readline()
        waiting.send_signal(2)
        _, said = waiting.communicate(timeout=HANG_SECONDS)
    assert waiting.returncode == 130
    assert "Traceback" not in said
    assert "stopped waiting; the job goes on" in said
    assert len(home.jobs()) == 1


def test_a_bug_of_ours_is_named_as_one(
    used: Home, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("no such luck")

    monkeypatch.setattr("webordinary.entrypoints.cli.context.platform_of", broken)
    assert main(used.words("status")) == 70
    assert "RuntimeError: no such luck; this is a bug in webordinary" in capsys.readouterr().err
    monkeypatch.setenv("WEBORDINARY_DEBUG", "1")
    with pytest.raises(RuntimeError):
        main(used.words("status"))
