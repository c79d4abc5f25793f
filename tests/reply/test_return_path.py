"""The return path of a letter: it names the letter, and nobody else can make one."""

import pytest

from tests.reply.letters import OURS
from tests.reply.post import Post
from tests.reply.smtp_server import Inbox, smtp_server
from webordinary.core.mail import LetterKind, MailId, SessionId
from webordinary.core.outcome import Done
from webordinary.core.signed_addresses import (
    SentLetter,
    letter_from_addresses,
    return_path,
    session_address,
    session_from_address,
    shortened_id,
)
from webordinary.mail.smtp.relay import Encryption, Relay, SmtpRelay
from webordinary.ports.bounces import BOUNCES_TO_MARK

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
US = "edit@webordinary.example"
MAIL = MailId("0123456789abcdef0123456789abcdef")
LETTER = SentLetter(MAIL, LetterKind.DONE)


def relay(inbox: Inbox) -> SmtpRelay:
    return SmtpRelay(Relay("127.0.0.1", inbox.port, OURS.address, Encryption.NONE))


def read(address: str, key: bytes = KEY) -> SentLetter | None:
    return letter_from_addresses(["someone@example.org", address], key)


@pytest.mark.parametrize("kind", LetterKind)
def test_a_letter_of_every_kind_is_found_by_its_return_path(kind: LetterKind) -> None:
    path = return_path(SentLetter(MAIL, kind), KEY, US)
    assert path.startswith("edit+")
    assert len(path.partition("@")[0]) <= 64
    for spelled in (path, path.upper(), f"<{path}>"):
        assert read(spelled) == SentLetter(MAIL, kind)


def test_nobody_else_can_make_one() -> None:
    path = return_path(LETTER, KEY, US)
    other = return_path(SentLetter(MailId("f" * 32), LetterKind.DONE), KEY, US)
    signature = path.partition(".")[2]
    assert read(path, OTHER_KEY) is None
    assert read(path.replace("+a", "+b", 1)) is None
    assert read(path.replace("-don.", "-hel.")) is None
    assert read(other.partition(".")[0] + "." + signature) is None
    assert read(US) is None
    assert read(f"edit+{MAIL}-don.@webordinary.example") is None
    assert read(f"edit+{MAIL}-don.é@webordinary.example") is None


def test_a_return_path_is_no_reply_address_and_a_reply_address_no_return_path() -> None:
    """What one is signed for, the other must not do: a bounce is no word in a conversation."""
    assert session_from_address(return_path(LETTER, KEY, US), KEY) is None
    assert read(session_address(SessionId(f"{shortened_id(MAIL)}-don"), KEY, US)) is None
    assert read(session_address(SessionId(f"{MAIL}-don"), KEY, US)) is None


@pytest.mark.parametrize("address", ["a-mailbox-with-a-long-name@webordinary.example"])
def test_what_would_be_no_address_is_left_out(address: str) -> None:
    """A letter that nobody accepts because of its sender is worse than a bounce that nobody can place."""
    assert return_path(LETTER, KEY, address) == address
    assert return_path(SentLetter(MailId("Not An Id"), LetterKind.DONE), KEY, US) == US


# --- on its way out -----------------------------------------------------------------------------------


async def test_a_letter_leaves_with_its_own_return_path(post: Post) -> None:
    mail = await post.mail_comes()
    await post.owe_help(mail)
    async with smtp_server() as inbox, post.sending(post.office(relay(inbox))):
        await post.until("sent")
    (sender,) = inbox.senders
    assert letter_from_addresses([sender], OURS.key) == SentLetter(mail.id, LetterKind.HELP)


async def test_a_relay_that_knows_one_sender_only_gets_that_one(post: Post) -> None:
    """Letters that leave without a return path of their own are better than letters that do not leave."""
    await post.owe_help(await post.mail_comes())
    async with smtp_server() as inbox:
        inbox.only_sender = OURS.address
        async with post.sending(post.office(relay(inbox))):
            await post.until("sent")
    assert inbox.senders == [OURS.address]


async def test_an_address_that_is_refused_at_once_bounces_too(post: Post) -> None:
    await post.owe_help(await post.mail_comes("gone@flowers.example"))
    async with smtp_server() as inbox, post.sending(post.office(relay(inbox))):
        await post.until("abandoned")
    (found,) = await post.backend.bounces.all(limit=5)
    assert (found.address, len(found.letters)) == ("gone@flowers.example", 1)
    assert "550" in found.reason


async def test_to_an_address_whose_mail_comes_back_only_last_words_go_out(post: Post) -> None:
    """What became of a request is kept and tried all the same; courtesies would only make us look bad."""
    mail = await post.mail_comes()
    await post.job_for(mail)
    for number in range(BOUNCES_TO_MARK):
        await post.backend.bounces.note(mail.from_address, f"letter {number}", "5.1.1 no such user")
    await post.owe_help(mail)
    async with post.sending():
        await post.until("abandoned: 3 letters to this address came back: 5.1.1 no such user")
        await post.job_ends(Done("Changed it."))
        await post.until("sent")
    assert len(post.delivered()) == 1
