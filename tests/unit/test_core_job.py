"""Jobs: what is refused, and a lifecycle that is the same in the code, in the docs and on the picture."""

import re
from pathlib import Path

import pytest

from webordinary.core.errors import BadInput
from webordinary.core.job import (
    ENDED,
    INSTRUCTION_CHARACTERS,
    MESSAGE_ID_CHARACTERS,
    MOVES,
    OPEN,
    Job,
    JobId,
    JobState,
)
from webordinary.core.lane import Lane

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "lifecycle.md").read_text()
ALLOWED = {(before, after): why for before, moves in MOVES.items() for after, why in moves.items()}


def job(instruction: str = "Change the title", message_id: str = "<1@example.org>") -> Job:
    return Job(JobId("j1"), Lane("amelia", "scott"), instruction, message_id)


# --- what is refused --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("instruction", "rule"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("x" * (INSTRUCTION_CHARACTERS + 1), "200,000 characters"),
        ("a\x00b", "no text"),
        ("half a pair: \ud83d", "no text"),
    ],
)
def test_an_instruction_that_nobody_could_keep_or_read_is_refused(instruction: str, rule: str) -> None:
    with pytest.raises(BadInput, match=rule):
        job(instruction)


@pytest.mark.parametrize("message_id", ["", "x" * (MESSAGE_ID_CHARACTERS + 1), "a\x00b", "\udcff"])
def test_a_message_id_that_nobody_could_keep_is_refused(message_id: str) -> None:
    with pytest.raises(BadInput, match="message id"):
        job(message_id=message_id)


def test_the_longest_instruction_and_the_longest_message_id_are_fine() -> None:
    job("x" * INSTRUCTION_CHARACTERS, "y" * MESSAGE_ID_CHARACTERS)
    job("🌷 Frühling\r\n\t")


# --- the lifecycle ----------------------------------------------------------------------------------


def test_every_state_has_its_row_of_moves() -> None:
    assert set(MOVES) == set(JobState)


def test_every_state_can_be_reached_and_every_open_one_can_be_left() -> None:
    """A failed requeue once left a job 'doing' for ever: every state has a way out that needs no person."""
    reached = {JobState.QUEUED} | {after for _, after in ALLOWED}
    assert reached == set(JobState)
    for state in OPEN:
        assert set(MOVES[state]) - {state}


def test_an_ended_job_comes_back_only_from_the_dead() -> None:
    """Preempted is terminal: a superseded run must not finish after its replacement."""
    assert set(JobState) == OPEN | ENDED
    assert not OPEN & ENDED
    back = {(before, after) for before, after in ALLOWED if before in ENDED and after in OPEN}
    assert back == {(JobState.DEAD, JobState.QUEUED)}


def test_the_picture_shows_exactly_the_allowed_moves() -> None:
    picture = re.search(r"```mermaid\nstateDiagram-v2\n(.*?)```", PAGE, re.DOTALL)
    assert picture is not None
    arrows = {tuple(line.split(" --> ")) for line in map(str.strip, picture[1].splitlines())}
    ends = {(state.value, "[*]") for state in JobState if not MOVES[state]}
    assert arrows == {(before.value, after.value) for before, after in ALLOWED} | ends | {("[*]", "queued")}


def test_the_table_gives_the_reason_of_every_move() -> None:
    rows = re.findall(r"^\| (\w+) \| (\w+) \| (.+) \|$", PAGE, re.MULTILINE)
    header, *moves = rows
    assert header == ("from", "to", "why")
    assert {(before, after): why for before, after, why in moves} == {
        (before.value, after.value): why for (before, after), why in ALLOWED.items()
    }
    assert len(moves) == len(ALLOWED)
