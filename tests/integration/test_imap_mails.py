"""Mails in a mailbox: one that makes trouble and the others, servers of all kinds, whom a mail is for."""

from __future__ import annotations

import asyncio
import random
import re
import ssl
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import trustme

from tests.flows.door import ADDRESS, KEY, SCOTT
from tests.integration.imap_desk import MAIL_BODY, Desk, desk, mail, proxy, server
from tests.integration.imap_support import PASSWORD, USER, Fault, How, Proxy, proxy_to
from tests.waiting import until
from webordinary.core.errors import BackendUnavailable, CannotTellNow, MailboxUnavailable
from webordinary.core.facts import Question
from webordinary.core.mail import LetterKind, MailState, SessionId
from webordinary.core.signed_addresses import session_address
from webordinary.mail.imap import client as imap_client
from webordinary.mail.imap import mailbox as imap_mailbox
from webordinary.mail.imap.connection import ImapAccount, probe
from webordinary.mail.smtp.relay import Encryption

__all__ = ["desk", "proxy", "server"]  # fixtures


# --- one mail and the others --------------------------------------------------------------------------


async def test_a_mail_that_cannot_be_moved_blocks_no_other_and_is_received_once(
    desk: Desk, caplog: pytest.LogCaptureFixture
) -> None:
    """It stays where it is, the operator hears of it once, and it is moved when that can be done."""
    desk.proxy.faults.append(Fault("UID MOVE", How.NO, 6, "NO [NOPERM] not yours"))
    for number in "12":
        desk.mailbox.add(mail(f"Change {number}", number))
    async with desk.reading():
        await desk.eventually("Change 1", "Change 2")
        await asyncio.to_thread(desk.mailbox.add, mail("Change 3", "3"))
        await desk.eventually("Change 1", "Change 2", "Change 3")
        await desk.empty()
    assert len(desk.mailbox.mails(desk.mailbox.done)) == 3
    assert desk.proxy.count(MAIL_BODY) == 3
    assert len([one for one in caplog.messages if "not yours" in one]) == 1


async def test_a_mail_that_stays_is_not_received_again_by_the_next_process(desk: Desk) -> None:
    """A folder that can't be made, or none that is wanted: what was received is remembered."""
    desk.proxy.faults.append(Fault("UID MOVE|CREATE", How.NO, 1000, "NO [NOPERM] not yours"))
    desk.mailbox.add(mail("Change 1", "1"))
    assert await desk.poller().look() == 1
    desk.mailbox.add(mail("Change 2", "2"))
    assert await desk.poller().look() == 1
    assert await desk.poller().look() == 0
    assert desk.proxy.count(MAIL_BODY) == 2
    assert len(desk.mailbox.mails()) == 2


@pytest.mark.parametrize(
    ("what", "how"), [("BODY", How.CUT), ("BODY", How.BYE), ("BODY", How.NO), ("RFC822.SIZE", How.CUT)]
)
async def test_a_mail_that_cannot_be_fetched_blocks_no_other(desk: Desk, what: str, how: How) -> None:
    """A server may die of one mail, every time; the others must not wait for it."""
    for number in "123":
        desk.mailbox.add(mail(f"Change {number}", number))
    poison = Fault(rf"UID FETCH 101 \(UID {what}", how, 1000)
    desk.proxy.faults.append(poison)
    async with desk.reading():
        await desk.eventually("Change 2", "Change 3")
        poison.times = 0
        await desk.eventually("Change 2", "Change 3", "Change 1")
        await desk.empty()


async def test_a_mail_that_cannot_be_received_blocks_no_other(desk: Desk) -> None:
    """By a mistake of ours, or because the store can't take this one."""
    poison = {b"Change 1": ValueError("a bug"), b"Change 2": BackendUnavailable("the store can't")}
    desk.failing = lambda raw, _: next((error for text, error in poison.items() if text in raw), None)
    for number in "1234":
        desk.mailbox.add(mail(f"Change {number}", number))
    async with desk.reading():
        await desk.eventually("Change 3", "Change 4")
        poison.clear()
        await desk.empty()
    assert sorted(await desk.asked_for()) == ["Change 1", "Change 2", "Change 3", "Change 4"]


async def test_a_store_that_is_away_for_a_while_keeps_the_order(desk: Desk) -> None:
    """A mail stays until it is durable here, and the later one of a conversation comes later."""
    away = BackendUnavailable("the store is away")
    desk.failing = lambda _raw, _may: away
    for number in "123":
        desk.mailbox.add(mail(f"Change {number}", number))
    async with desk.reading():
        await until(lambda: desk.proxy.count(MAIL_BODY) > 10)
        assert len(await asyncio.to_thread(desk.mailbox.mails)) == 3
        desk.failing = lambda _raw, _may: None
        await desk.eventually("Change 1", "Change 2", "Change 3")


async def test_a_sender_that_cannot_be_looked_up_now_is_tried_again_and_not_for_ever(desk: Desk) -> None:
    """Some name servers never come back; then the mail is doubted, as it would be after days of SMTP."""
    unsure: list[bool] = []

    def failing(raw: bytes, may_come_again: bool) -> Exception | None:
        if b"Change 1" not in raw or not may_come_again:
            return None
        unsure.append(may_come_again)
        return CannotTellNow("no answer")

    desk.failing = failing
    for number in "12":
        desk.mailbox.add(mail(f"Change {number}", number))
    async with desk.reading():
        await desk.eventually("Change 2", "Change 1")
    assert len(unsure) == imap_mailbox.UNSURE_TIMES_MAX


async def test_a_mail_that_is_too_large_is_left_and_never_fetched(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It stays where a person finds it, and is among the mails that wait for the operator."""
    monkeypatch.setattr(imap_mailbox, "FETCHED_BYTES", 1000)
    large = mail("x" * 2000, "1")
    desk.mailbox.add(large)
    desk.mailbox.add(mail("Change the title", "2"))
    assert await desk.poller().look() == 2
    assert await desk.poller().look() == 0
    assert await desk.asked_for() == ["Change the title"]
    assert desk.mailbox.mails() == [large]
    assert desk.proxy.count(r"BODY.PEEK\[\]") == 1
    assert len([one for one in caplog.messages if "more than" in one]) == 1
    (noted,) = await desk.door.backend.mailbox.mails(limit=5, state=MailState.QUARANTINED)
    assert noted.from_address == SCOTT
    assert desk.mailbox.folder in noted.reason


async def test_an_answer_that_never_ends_is_given_up(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a server says of a mail's size, no answer takes more memory than the largest mail."""
    desk.mailbox.add(mail("x" * 50_000, "1"))
    desk.mailbox.add(mail("Change the title", "2"))
    monkeypatch.setattr(imap_client, "ANSWER_BYTES", 20_000)
    async with desk.reading():
        await desk.eventually("Change the title")


async def test_ten_thousand_old_mails_are_neither_fetched_nor_listed(proxy: Proxy) -> None:
    """Not ten thousand here, but none of those that are there is ever asked for."""
    desk = Desk(proxy)
    for number in range(30):
        desk.mailbox.add(mail("Old", str(number)))
    await desk.poller().look()
    assert desk.proxy.count("UID FETCH") == 0
    assert desk.proxy.count(r"UID SEARCH UID 131:\*") == 1


# --- servers of all kinds --------------------------------------------------------------------------


def chatty(chunk: bytes) -> bytes:
    """News of other mails before every answer."""
    news = rb"* 1 FETCH (FLAGS (\Seen \Recent))" + b"\r\n* 7 EXISTS\r\n* OK [ALERT] disk\r\n* FLAGS ()\r\n"
    return re.sub(rb"(?m)^(?=\* (?:SEARCH|\d+ FETCH))", lambda _: news, chunk)


def split_search(chunk: bytes) -> bytes:
    """A result in two lines, the later mail first."""
    return re.sub(
        rb"\* SEARCH (\d+) (\d+)", lambda found: b"* SEARCH %b\r\n* SEARCH %b" % (found[2], found[1]), chunk
    )


def uid_behind(chunk: bytes) -> bytes:
    """The UID of a mail behind its content."""
    pattern = rb"\(UID (\d+) (BODY\[\] \{\d+\}\r\n.*\r\n)\)\r\n"
    return re.sub(pattern, rb"(\2 UID \1)\r\n", chunk, flags=re.DOTALL)


def without_uid_state(chunk: bytes) -> bytes:
    return re.sub(rb"\* OK \[UID(?:NEXT|VALIDITY) \d+\][^\r]*\r\n", b"", chunk)


def quick_to_tell(chunk: bytes) -> bytes:
    """New mail in the same packet as the word that it idles, after a word that it is still there."""
    return re.sub(rb"(?m)^\+ [^\r]*\r\n", b"+ idling\r\n* OK Still here\r\n* 3 EXISTS\r\n", chunk)


@pytest.mark.parametrize("rewritten", [chatty, split_search, uid_behind, without_uid_state, quick_to_tell])
async def test_servers_of_all_kinds_are_read(desk: Desk, rewritten: Callable[[bytes], bytes]) -> None:
    """What the standard leaves open, somebody's server does."""
    desk.proxy.rewritten = rewritten
    for number in "12":
        desk.mailbox.add(mail(f"Change {number}", number))
    async with desk.reading():
        await desk.eventually("Change 1", "Change 2")
        await asyncio.to_thread(desk.mailbox.add, mail("Change 3", "3"))
        await desk.eventually("Change 1", "Change 2", "Change 3")
        await desk.empty()
    assert desk.proxy.count(MAIL_BODY) == 3
    assert len(desk.mailbox.mails(desk.mailbox.done)) == 3


async def test_a_server_that_counts_from_one_again_is_believed(desk: Desk) -> None:
    """Some start over with the same UIDVALIDITY when the last mail is gone; new mail must not look old."""
    desk.mailbox.add(mail("Change 1", "1"))
    await desk.poller(done_folder="").look()
    checkpoint = await desk.door.backend.checkpoints.load(desk.account.name)
    assert checkpoint is not None
    far = replace(checkpoint, first_uid=5000)
    await desk.door.backend.checkpoints.save(desk.account.name, far)
    desk.mailbox.add(mail("Change 2", "2"))
    await desk.poller(done_folder="").look()
    assert await desk.asked_for() == ["Change 1", "Change 2"]


async def test_a_folder_that_may_only_be_read_is_read(desk: Desk) -> None:
    """A shared folder of others: nothing is moved, and nothing is received twice."""
    desk.proxy.rewritten = lambda chunk: chunk.replace(b"[READ-WRITE]", b"[READ-ONLY]")
    desk.proxy.faults.append(Fault("UID MOVE|CREATE|UID COPY", How.NO, 1000, "NO it is read-only"))
    desk.mailbox.add(mail("Change the title"))
    await desk.poller().look()
    assert await desk.asked_for() == ["Change the title"]
    assert await desk.poller().look() == 0
    assert desk.proxy.count("^EXAMINE") > 0


async def test_folders_below_the_inbox_are_found(desk: Desk) -> None:
    """Many servers keep all folders there, and refuse to make one beside it."""
    desk.proxy.faults.append(
        Fault('(MOVE \\d+|CREATE) "Done', How.NO, 1000, "NO [CANNOT] Invalid mailbox name")
    )
    desk.mailbox.add(mail("Change 1", "1"))
    desk.mailbox.add(mail("Change 2", "2"))
    assert await desk.poller().look() == 2
    assert len(desk.mailbox.mails(f"INBOX/{desk.mailbox.done}")) == 2


@pytest.mark.parametrize("seed", range(3))
async def test_a_server_that_stammers_loses_and_doubles_nothing(desk: Desk, seed: int) -> None:
    """Answers that are cut, doubled, shuffled or changed anywhere but in a mail itself."""
    chance = random.Random(seed)

    def stammering(chunk: bytes) -> bytes:
        if b"BODY[" in chunk or chance.random() < 0.6:
            return chunk
        at, end = sorted(chance.randrange(len(chunk) + 1) for _ in range(2))
        noise = chance.choice([b"", chunk, b"{7}\r\n", b"* BYE\r\n", b"9", b"\x00\xff", b")(", b"NO "])
        return chunk[:at] + noise + chunk[end:]

    desk.proxy.rewritten = stammering
    async with desk.reading():
        for number in "123":
            await asyncio.to_thread(desk.mailbox.add, mail(f"Change {number}", number))
        before = desk.proxy.connections
        await until(lambda: desk.proxy.connections > before + 10)
        desk.proxy.rewritten = lambda chunk: chunk
        desk.proxy.cut_all()
        await desk.empty()
    assert sorted(await desk.asked_for()) == ["Change 1", "Change 2", "Change 3"]
    assert len(await desk.door.letters()) == 3


@pytest.mark.parametrize("encryption", [Encryption.TLS, Encryption.STARTTLS])
async def test_a_connection_is_encrypted_and_its_certificate_is_checked(
    server: int, encryption: Encryption, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The password of a mailbox goes to nobody else."""
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "ca.pem")
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert("localhost").configure_cert(tls)
    async with proxy_to(server, tls, starttls=encryption is Encryption.STARTTLS) as proxy:
        account = ImapAccount("localhost", USER, PASSWORD, proxy.port, encryption=encryption)
        with pytest.raises(MailboxUnavailable, match=r"(?i)certificate"):
            await asyncio.to_thread(probe, account)
        assert proxy.count("LOGIN") == 0
        monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
        assert "is let in" in await asyncio.to_thread(probe, account)
        with pytest.raises(MailboxUnavailable, match=r"(?i)certificate|hostname|mismatch"):
            await asyncio.to_thread(probe, replace(account, host="127.0.0.1"))


async def test_what_is_sent_in_the_clear_behind_starttls_is_not_read(proxy: Proxy) -> None:
    """Somebody on the way could answer for the server before the line is encrypted."""
    proxy.faults.append(Fault("STARTTLS", How.NO, said="OK begin\r\n* CAPABILITY IMAP4rev1 X-EVIL"))
    account = ImapAccount("127.0.0.1", USER, PASSWORD, proxy.port, encryption=Encryption.STARTTLS)
    with pytest.raises(MailboxUnavailable, match="in the clear"):
        await asyncio.to_thread(probe, account)


async def test_a_server_without_starttls_gets_no_password(proxy: Proxy) -> None:
    account = ImapAccount("127.0.0.1", USER, PASSWORD, proxy.port, encryption=Encryption.STARTTLS)
    with pytest.raises(MailboxUnavailable):
        await asyncio.to_thread(probe, account)
    assert proxy.count("LOGIN") == 0


# --- whom it is for -----------------------------------------------------------------------------------


async def test_a_session_address_in_delivered_to_finds_its_conversation(desk: Desk) -> None:
    """Mail programs answer to the session's address; in a mailbox only the header knows that."""
    desk.mailbox.add(mail("Change the title", "1"))
    await desk.poller().look()
    (first,) = await desk.door.backend.mailbox.mails(limit=5)
    assert first.session is not None
    token = session_address(first.session, KEY, ADDRESS)
    desk.mailbox.add(mail("And the colour", "2", f"Delivered-To: {token}\r\n"))
    await desk.poller().look()
    assert desk.envelopes[-1].recipients == (token, ADDRESS)
    (second, _) = await desk.door.backend.mailbox.mails(limit=5)
    assert second.session == first.session


async def test_a_confirming_address_works_out_of_a_mailbox(desk: Desk) -> None:
    """Whoever is asked answers to an address that only the header knows."""
    desk.is_believed = False
    desk.mailbox.add(mail("Change the title", "1"))
    await desk.poller().look()
    ((letter, _),) = await desk.door.backend.outbox.letters(limit=5)
    assert letter.kind is LetterKind.CONFIRM
    assert isinstance(letter.facts, Question)
    token = session_address(SessionId(letter.facts.token), KEY, ADDRESS)
    answer = mail("Yes", "2").replace(b"To: ", f"X-Original-To: {token}\r\nX-Was-To: ".encode(), 1)
    desk.mailbox.add(answer)
    await desk.poller().look()
    assert await desk.asked_for() == ["Change the title"]


async def test_mail_for_somebody_else_in_the_same_mailbox_can_be_left_alone(desk: Desk) -> None:
    """People use the mailbox they have, and their other mail is none of our business."""
    private = mail("Hi Scott", "1").replace(ADDRESS.encode(), b"scott@home.example")
    desk.mailbox.add(private)
    desk.mailbox.add(mail("Change the title", "2"))
    await desk.poller(only_addressed=True).look()
    assert await desk.asked_for() == ["Change the title"]
    assert desk.mailbox.mails() == [private]
    assert await desk.poller(only_addressed=True).look() == 0


async def test_a_bounce_is_known_by_its_return_path(desk: Desk) -> None:
    """An answer to a bounce makes a loop."""
    desk.mailbox.add(b"Return-Path: <>\r\n" + mail("Your mail could not be delivered"))
    await desk.poller().look()
    assert desk.envelopes[-1].mail_from == ""
    assert await desk.door.letters() == []


async def test_mails_are_received_as_they_came(desk: Desk) -> None:
    """Signatures are over the very bytes."""
    received: list[bytes] = []
    desk.failing = lambda raw, _: received.append(raw)
    raw = mail("Change  the title ").replace(b"title", b"t\xefitle \x80")
    desk.mailbox.add(raw)
    await desk.poller().look()
    assert received == [raw]
    assert {kind for _, kind in await desk.door.letters()} <= {LetterKind.ACCEPTED}


@pytest.mark.parametrize("done", ["Erledigte Wünsche & mehr", 'Do"ne \\', "Übrig/Unten"])
async def test_folders_may_be_called_anything(desk: Desk, done: str) -> None:
    desk.mailbox.add(mail("Change the title"))
    name = f"{done} {desk.mailbox.folder}"
    assert await desk.poller(done_folder=name).look() == 1
    assert len(desk.mailbox.mails(name)) == 1
