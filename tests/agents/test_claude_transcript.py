"""A conversation goes from one worker to the next, and what an agent put in its home leads nobody astray."""

from __future__ import annotations

import gzip
import json
import os
from pathlib import Path

import pytest

from webordinary.agents.claude.options import ClaudeOptions
from webordinary.agents.claude.transcript import Conversation, TranscriptFile
from webordinary.core.errors import BadInput

SESSION = "0d9e7f1c-5b3a-4c6d-8e2f-1a2b3c4d5e6f"
LINES = b'{"type":"user","text":"Gr\xc3\xbc\xc3\x9fe"}\n{"type":"assistant"}\n'


@pytest.fixture
def file(tmp_path: Path) -> TranscriptFile:
    return TranscriptFile(tmp_path, "-site", bytes_max=1000)


def place(file: TranscriptFile) -> Path:
    folder = file.home / ".claude" / "projects" / "-site"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / f"{SESSION}.jsonl"


def test_what_is_packed_comes_out_again(file: TranscriptFile) -> None:
    assert file.write(Conversation(SESSION, LINES))
    packed = file.pack(SESSION)
    assert packed is not None
    assert file.unpack(packed) == Conversation(SESSION, LINES)


def test_costs_and_half_lines_are_left_behind(file: TranscriptFile) -> None:
    """With the costs of this run in it, the next one would be billed for both."""
    place(file).write_bytes(LINES + b'{"type":"cost-state","totalCostUSD":1}\n{"type":"assis')
    packed = file.pack(SESSION)
    assert packed is not None
    assert file.unpack(packed) == Conversation(SESSION, LINES)


def test_a_conversation_that_is_too_long_is_not_carried(file: TranscriptFile) -> None:
    place(file).write_bytes(LINES * 100)
    assert file.pack(SESSION) is None


@pytest.mark.parametrize("session", ["", "../../../etc/passwd", "..", SESSION + "/x", SESSION.upper()])
def test_only_a_session_id_becomes_a_path(file: TranscriptFile, session: str) -> None:
    assert file.pack(session) is None
    packed = {"agent": "claude", "session": session, "transcript": "{}"}
    assert file.unpack(gzip.compress(json.dumps(packed).encode())) is None


def test_no_link_is_followed(file: TranscriptFile, tmp_path: Path) -> None:
    """The agent could else have the worker read, or overwrite, any file for it."""
    secret = tmp_path / "secret"
    secret.write_bytes(LINES)
    place(file).symlink_to(secret)
    assert file.read(SESSION) is None
    assert file.write(Conversation(SESSION, b"{}\n"))
    assert secret.read_bytes() == LINES
    assert not place(file).is_symlink()


def test_no_linked_folder_is_entered(file: TranscriptFile, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    (elsewhere / "-site").mkdir(parents=True)
    (elsewhere / "-site" / f"{SESSION}.jsonl").write_bytes(LINES)
    (file.home / ".claude").mkdir()
    (file.home / ".claude" / "projects").symlink_to(elsewhere)
    assert file.read(SESSION) is None
    assert not file.write(Conversation(SESSION, b"{}\n"))
    assert (elsewhere / "-site" / f"{SESSION}.jsonl").read_bytes() == LINES


def test_a_pipe_in_its_place_keeps_nobody_waiting(file: TranscriptFile) -> None:
    os.mkfifo(place(file))
    assert file.read(SESSION) is None


@pytest.mark.parametrize(
    "packed",
    [
        b"",
        b"nothing of ours",
        gzip.compress(b"[]"),
        gzip.compress(b"\xff"),
        gzip.compress(b'{"agent":"other"}'),
        gzip.compress(json.dumps({"agent": "other", "session": SESSION, "transcript": ""}).encode()),
        gzip.compress(json.dumps({"agent": "claude", "session": SESSION, "transcript": 1}).encode()),
        gzip.compress(json.dumps({"agent": "claude", "session": SESSION, "transcript": "\ud800"}).encode()),
        gzip.compress(json.dumps({"agent": "claude", "session": SESSION, "transcript": "x" * 1001}).encode()),
        gzip.compress(b" " * 10_000_000),
        gzip.compress(b"{}")[:-4],
    ],
    ids=lambda packed: f"{len(packed)}-bytes",  # the bytes themselves hold the time of packing
)
def test_what_was_not_packed_here_is_not_unpacked(file: TranscriptFile, packed: bytes) -> None:
    assert file.unpack(packed) is None


def test_options_never_show_the_key() -> None:
    assert "sesame" not in repr(ClaudeOptions(key="sesame"))


@pytest.mark.parametrize("wrong", [{"key": ""}, {"budget_usd": 0}, {"turns_max": 0}, {"idle_seconds": -1}])
def test_options_that_can_not_work_are_refused(wrong: dict[str, str]) -> None:
    with pytest.raises(BadInput):
        ClaudeOptions(**({"key": "sesame"} | wrong))  # type: ignore[arg-type]
