"""Mail out of a mailbox, on a real IMAP server that dies, refuses and starts over."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import logging
from dataclasses import replace

import pytest

from tests.flows.door import ADDRESS, SCOTT
from tests.integration.imap_desk import MAIL_BODY, MAIL_SIZES, Desk, desk, mail, proxy, server
from tests.integration.imap_support import PASSWORD, USER, Fault, How, Proxy
from tests.waiting import HANG_SECONDS, until
from webordinary.core.errors import LoginRefused, MailboxUnavailable
from webordinary.mail.imap import client as imap_client
from webordinary.mail.imap import mailbox as imap_mailbox
from webordinary.mail.imap.connection import ImapAccount, probe
from webordinary.mail.imap.mailbox import ImapPoller
from webordinary.mail.imap.pace import PollPace
from webordinary.mail.smtp.relay import Encryption
from webordinary.system.clock import SystemClock

__all__ = ["desk", "proxy", "server"]  # fixtures


# --- a server that dies -------------------------------------------------------------------------------


PHASES = ("greeting", "LOGIN", "SELECT", MAIL_BODY, "UID MOVE")
DEATHS = (How.CUT, How.CUT_AFTER, How.CUT_INSIDE, How.BYE, How.GARBAGE)
IN_BETWEEN = [("NOOP", How.CUT), ("UID SEARCH", How.CUT_INSIDE), (MAIL_SIZES, How.BYE)]
NEVER_ANSWERED = [(at, How.SILENCE) for at in ("greeting", MAIL_BODY, "UID MOVE")]
IMPOSSIBLE = [("greeting", How.CUT_AFTER), ("greeting", How.CUT_INSIDE)]


@pytest.mark.parametrize(
    ("at", "how"),
    [one for one in itertools.product(PHASES, DEATHS) if one not in IMPOSSIBLE] + IN_BETWEEN + NEVER_ANSWERED,
)
async def test_a_server_that_dies_in_any_phase_costs_no_mail_and_doubles_none(
    desk: Desk, at: str, how: How
) -> None:
    """Every far end may go away at any line: what was cut short is done again, and done once."""
    for number in "123":
        desk.mailbox.add(mail(f"Change {number}", number))
    desk.proxy.faults.append(Fault(at, how))
    async with desk.reading():
        await desk.eventually("Change 1", "Change 2", "Change 3")
        await desk.empty()
    assert desk.proxy.faults[0].times == 0
    assert len(await desk.door.letters()) == 3
    assert len(desk.mailbox.mails(desk.mailbox.done)) == 3


async def test_a_process_that_ends_between_receiving_and_moving_doubles_nothing(desk: Desk) -> None:
    """The next one knows nothing of the mail but its Message-ID, and that is enough."""
    desk.mailbox.add(mail("Change the title"))
    desk.proxy.faults.append(Fault("UID MOVE", How.CUT))
    with pytest.raises(MailboxUnavailable):
        await desk.poller().look()
    assert await desk.poller().look() == 1
    assert len(desk.envelopes) == 2
    assert await desk.asked_for() == ["Change the title"]
    assert len(await desk.door.letters()) == len(desk.mailbox.mails(desk.mailbox.done)) == 1


async def test_without_move_a_server_that_dies_costs_no_mail_either(desk: Desk) -> None:
    """Then a mail is copied and marked as deleted, and the line may break between any two of these."""
    desk.proxy.hide(" MOVE", " IDLE")
    for number in "1234":
        desk.mailbox.add(mail(f"Change {number}", number))
    for command in ("UID COPY", "UID STORE", "UID EXPUNGE"):
        desk.proxy.faults.append(Fault(command, How.CUT_AFTER))
    async with desk.reading():
        await desk.eventually("Change 1", "Change 2", "Change 3", "Change 4")
        await desk.empty()
    assert desk.proxy.count("UID MOVE") == 0
    assert {raw.split(b"\r\n\r\n")[1] for raw in desk.mailbox.mails(desk.mailbox.done)} == {
        f"Change {number}\r\n".encode() for number in "1234"
    }


async def test_mail_that_others_marked_as_deleted_is_not_expunged(desk: Desk) -> None:
    """A plain EXPUNGE takes along what somebody marked and may want back."""
    desk.proxy.hide(" MOVE")
    desk.mailbox.add(mail("Somebody else's", "9"), flags=r"\Deleted")
    desk.mailbox.add(mail("Change the title"))
    assert await desk.poller().look() == 1
    assert desk.mailbox.mails(which="ALL") == [mail("Somebody else's", "9")]
    assert await desk.asked_for() == ["Change the title"]


async def test_a_server_without_uidplus_leaves_the_mail_marked_as_deleted(desk: Desk) -> None:
    """Nothing is expunged there at all; and a marked mail is not received again."""
    desk.proxy.hide(" MOVE", " UIDPLUS")
    desk.mailbox.add(mail("Change the title"))
    assert await desk.poller().look() == 1
    assert await desk.poller().look() == 0
    assert desk.proxy.count("EXPUNGE") == 0
    assert desk.mailbox.mails(which="DELETED") == desk.mailbox.mails(desk.mailbox.done) != []


# --- one connection -----------------------------------------------------------------------------------


@pytest.mark.parametrize("has_idle", [True, False])
async def test_one_connection_is_kept_and_new_mail_is_seen(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, *, has_idle: bool
) -> None:
    """By IDLE, or by looking again where the server has none."""
    monkeypatch.setattr(imap_client, "STALL_SECONDS", HANG_SECONDS)
    desk.proxy.hide("nothing" if has_idle else " IDLE")
    before = desk.proxy.connections
    async with desk.reading():
        for number in "123":
            await asyncio.to_thread(desk.mailbox.add, mail(f"Change {number}", number))
            await desk.eventually(*(f"Change {earlier}" for earlier in range(1, int(number) + 1)))
        await until(lambda: desk.proxy.count("^IDLE") > 0 or not has_idle)
    assert desk.proxy.connections == before + 1
    assert (desk.proxy.count("^IDLE") > 0) is has_idle


async def test_new_mail_ends_the_wait_at_once(desk: Desk) -> None:
    """IDLE is there so that nobody waits for the next look."""
    poller = ImapPoller(
        desk.account, desk, (ADDRESS,), desk.door.backend.checkpoints, SystemClock(), PollPace(idle=3600.0)
    )
    task = asyncio.create_task(poller.run())
    await until(lambda: desk.proxy.count("^IDLE") > 0)
    await asyncio.to_thread(desk.mailbox.add, mail("Change the title"))
    await desk.eventually("Change the title")
    await until(lambda: desk.proxy.count("^IDLE") > 1)
    task.cancel()  # while it waits for an hour
    async with asyncio.timeout(HANG_SECONDS):
        with contextlib.suppress(asyncio.CancelledError):
            await task


async def test_a_line_that_breaks_while_nothing_happens_is_made_anew(desk: Desk) -> None:
    async with desk.reading():
        for number in "12":
            await until(lambda: bool(desk.proxy.open))
            desk.proxy.cut_all()
            await asyncio.to_thread(desk.mailbox.add, mail(f"Change {number}", number))
            await desk.eventually(*(f"Change {earlier}" for earlier in range(1, int(number) + 1)))


async def test_a_line_that_dies_silently_while_it_waits_is_made_anew(desk: Desk) -> None:
    """Routers and some servers forget a connection without a word to anybody."""
    desk.proxy.faults.append(Fault("^IDLE", How.HOLE))
    async with desk.reading():
        await until(lambda: desk.proxy.count("^IDLE") > 0)
        await asyncio.to_thread(desk.mailbox.add, mail("Change the title"))
        await desk.eventually("Change the title")


async def test_a_server_that_never_ends_a_line_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte now and then is no silence, and no answer either."""
    monkeypatch.setattr(imap_client, "COMMAND_SECONDS", 0.2)

    hung_up = asyncio.Event()

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError):
            while True:
                writer.write(b"*")
                await writer.drain()
                await asyncio.sleep(0.01)
        writer.transport.abort()
        hung_up.set()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    account = ImapAccount("127.0.0.1", USER, PASSWORD, port, encryption=Encryption.NONE)
    with pytest.raises(MailboxUnavailable, match="took longer"):
        await asyncio.to_thread(probe, account)
    await hung_up.wait()
    server.close()


async def test_a_server_that_dies_of_idle_is_asked_now_and_then(desk: Desk) -> None:
    """Some announce it and can't do it; mail must come in all the same, and not by a login a second."""
    desk.proxy.faults.append(Fault("^IDLE", How.CUT, times=1000))
    async with desk.reading():
        await until(lambda: desk.proxy.count("NOOP") > 8)
        await asyncio.to_thread(desk.mailbox.add, mail("Change the title"))
        await desk.eventually("Change the title")
    assert desk.proxy.count("^IDLE") == imap_mailbox.IDLE_DEATHS_MAX


# --- who is let in ------------------------------------------------------------------------------------


async def test_a_refused_login_is_told_once_and_tried_again(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """A wrong password is for the operator to mend, while mail by other ways goes on."""
    desk.proxy.faults.append(Fault("LOGIN", How.NO, 5, "NO [AUTHENTICATIONFAILED] Invalid credentials"))
    desk.mailbox.add(mail("Change the title"))
    with caplog.at_level(logging.INFO, "webordinary.gateway"):
        async with desk.reading():
            await desk.eventually("Change the title")
    told = [record.message for record in caplog.records if record.levelno >= logging.WARNING]
    assert len(told) == 1
    assert "the login is refused ([AUTHENTICATIONFAILED] Invalid credentials)" in told[0]
    assert "app password" in told[0]
    assert PASSWORD not in caplog.text


async def test_a_wrong_password_is_refused_by_the_server_itself(desk: Desk) -> None:
    for password in ("wrong", 'qu"ote\\', "käse"):
        with pytest.raises(LoginRefused):
            await desk.poller(password=password).look()


# --- where to begin -----------------------------------------------------------------------------------


async def test_only_mail_that_came_after_it_was_set_up_is_taken(proxy: Proxy) -> None:
    """Nobody wants ten years of mail carried out; unless they ask for it."""
    desk = Desk(proxy)
    await desk.door.onboard("amelia/scott", SCOTT)
    desk.mailbox.add(mail("Old", "0"))
    assert await desk.poller().look() == 0
    desk.mailbox.add(mail("New", "1"))
    assert await desk.poller().look() == 1
    assert await desk.asked_for() == ["New"]
    assert desk.mailbox.mails() == [mail("Old", "0")]
    assert await desk.poller(take_all=True).look() == 1
    assert await desk.asked_for() == ["New", "Old"]
    assert await desk.poller(take_all=True).look() == 0


async def test_mail_that_came_while_nobody_looked_is_taken(desk: Desk) -> None:
    """Whatever came since the set-up is new, also for another process."""
    desk.mailbox.add(mail("Change 1", "1"))
    desk.mailbox.add(mail("Change 2", "2"))
    assert await desk.poller().look() == 2
    assert await desk.asked_for() == ["Change 1", "Change 2"]


@pytest.mark.parametrize("done_folder", ["Done", ""])
async def test_a_mailbox_that_was_rebuilt_loses_and_doubles_nothing(desk: Desk, done_folder: str) -> None:
    """UIDs mean nothing any more when the UIDVALIDITY is another; Message-IDs still do."""
    desk.mailbox.add(mail("Change 1", "1"))
    await desk.poller(done_folder=done_folder and desk.mailbox.done).look()
    desk.mailbox.add(mail("Change 2", "2"))
    desk.mailbox.recreate()
    desk.mailbox.add(mail("Change 3", "3"))
    poller = desk.poller(done_folder=done_folder and desk.mailbox.done)
    await poller.look()
    assert await desk.asked_for() == ["Change 1", "Change 2", "Change 3"]
    assert await poller.look() == 0
    assert await desk.poller(done_folder=done_folder and desk.mailbox.done).look() == 0
    assert len(await desk.door.letters()) == 3


async def test_a_rebuilt_mailbox_does_not_bring_back_what_was_there_before(
    desk: Desk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only what came since all was settled is looked at again."""
    desk.mailbox.add(mail("Long ago"))
    await desk.poller(done_folder="").look()
    checkpoint = await desk.door.backend.checkpoints.load(desk.account.name)
    assert checkpoint is not None
    later = replace(checkpoint, since=checkpoint.since + 2 * imap_mailbox.SKEW_SECONDS)
    await desk.door.backend.checkpoints.save(desk.account.name, later)
    desk.mailbox.recreate()
    before = desk.proxy.count(MAIL_BODY)
    assert await desk.poller(done_folder="").look() == 0
    assert desk.proxy.count(MAIL_BODY) == before
