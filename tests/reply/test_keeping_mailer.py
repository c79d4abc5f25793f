"""A copy of every letter is kept where people can look; a letter never waits for its copy for long."""

import asyncio
from pathlib import Path

import pytest

from webordinary.mail import folder_mailer
from webordinary.mail.folder_mailer import FolderMailer, KeepingMailer
from webordinary.ports.mailer import Sent, TryLater


@pytest.fixture
def out(tmp_path: Path) -> FolderMailer:
    return FolderMailer(tmp_path / "out")


async def test_what_goes_out_can_be_read_afterwards(out: FolderMailer, tmp_path: Path) -> None:
    copies = FolderMailer(tmp_path / "copies")
    mailer = KeepingMailer(out, copies)
    assert await copies.copy("j1.done") is None
    assert await mailer.send(b"a letter", recipient="a@example.com", key="j1.done") == Sent()
    assert await copies.copy("j1.done") == await out.copy("j1.done") == b"a letter"


async def test_a_letter_goes_out_where_no_copy_can_be_kept(
    out: FolderMailer, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "copies").write_text("no folder")
    mailer = KeepingMailer(out, FolderMailer(tmp_path / "copies"))
    assert await mailer.send(b"a letter", recipient="a@example.com", key="j1.done") == Sent()
    assert await out.copy("j1.done") == b"a letter"
    assert "no copy of it is kept" in caplog.text


class Stuck(FolderMailer):
    """A place of copies that does not answer."""

    async def send(
        self, message: bytes, *, recipient: str, key: str, return_path: str = ""
    ) -> Sent | TryLater:
        await asyncio.Event().wait()
        return await super().send(message, recipient=recipient, key=key, return_path=return_path)


async def test_a_letter_does_not_wait_for_a_copy_that_takes_too_long(
    out: FolderMailer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(folder_mailer, "COPY_SECONDS", 0.01)
    mailer = KeepingMailer(out, Stuck(tmp_path / "copies"))
    assert await mailer.send(b"a letter", recipient="a@example.com", key="j1.done") == Sent()
    assert "takes longer" in caplog.text
