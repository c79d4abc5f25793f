"""A folder of letters: each there once, whole, and under a name that says what it is."""

import os
import threading
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webordinary.mail.folder_mailer import LEFTOVER_SECONDS, FolderMailer, file_name
from webordinary.ports.mailer import Sent, TryLater


async def put(folder: Path, content: bytes, key: str) -> Sent | TryLater:
    return await FolderMailer(folder).send(content, recipient="a@x", key=key)


async def test_a_letter_is_one_file_named_by_its_key(tmp_path: Path) -> None:
    assert await put(tmp_path / "a" / "outbox", b"hello", "01jq.done") == Sent()
    (path,) = (tmp_path / "a" / "outbox").iterdir()
    assert path.name.startswith("01jq.done-")
    assert path.suffix == ".eml"
    assert path.read_bytes() == b"hello"


async def test_a_letter_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """After a crash it is handed over again: the first one stays, with its date and its bytes."""
    await put(tmp_path, b"first", "01jq.done")
    assert await put(tmp_path, b"second", "01jq.done") == Sent()
    (path,) = tmp_path.iterdir()
    assert path.read_bytes() == b"first"


def test_many_at_once_leave_one(tmp_path: Path) -> None:
    """Two senders may believe that a letter is theirs, when one of them was paused for long."""
    mailers = [FolderMailer(tmp_path) for _ in range(8)]
    start = threading.Barrier(len(mailers))

    def put_when_all_do(number: int) -> None:
        start.wait()
        mailers[number]._put(str(number).encode() * 10_000, "same.eml")

    threads = [threading.Thread(target=put_when_all_do, args=(number,)) for number in range(len(mailers))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (path,) = tmp_path.iterdir()
    assert len(set(path.read_bytes())) == 1
    assert path.stat().st_size == 10_000


async def test_a_folder_that_can_not_be_written_is_a_reason_to_wait(tmp_path: Path) -> None:
    (tmp_path / "outbox").write_text("a file is in the way")
    answer = await put(tmp_path / "outbox", b"hello", "01jq.done")
    assert answer == TryLater(f"the folder {tmp_path / 'outbox'} can't be written to: File exists")


async def test_what_a_crash_left_unfinished_is_cleared_away_later(tmp_path: Path) -> None:
    old, young = tmp_path / ".a.eml.1.2.part", tmp_path / ".b.eml.1.2.part"
    for path in (old, young):
        path.write_text("half a lett")
    long_ago = time.time() - LEFTOVER_SECONDS - 1
    os.utime(old, (long_ago, long_ago))
    await put(tmp_path, b"hello", "01jq.done")
    assert not old.exists()
    assert young.exists()


async def test_a_file_system_without_links_will_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    assert await put(tmp_path, b"hello", "01jq.done") == Sent()
    assert [path.read_bytes() for path in tmp_path.iterdir()] == [b"hello"]


@given(st.text(), st.text())
def test_every_key_is_a_safe_name_and_no_two_are_the_same(key: str, other: str) -> None:
    """Keys hold whatever a quota or a mail is called: addresses, slashes, spaces."""
    name = file_name(key)
    assert Path(name).name == name
    assert name.isascii()
    assert name.isprintable()
    assert not name.startswith(".")
    assert len(name) < 120
    assert (name == file_name(other)) == (key == other)
