"""A mail is kept with the language that its letters are written in."""

from tests.flows.door import SCOTT, Door, door
from webordinary.core.language import Language
from webordinary.core.mail import MailId

__all__ = ["door"]

GERMAN = "Hallo, bitte ändert die Überschrift auf der Startseite in Frühlingsangebote."


async def test_the_language_of_a_mail_is_kept_with_it(door: Door) -> None:
    """The letter is written minutes later, by another process."""
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail(GERMAN)
    kept = await door.backend.mailbox.mail(MailId(record.id))
    assert kept is not None
    assert kept.language is Language.GERMAN


async def test_one_word_is_in_the_language_of_its_conversation(door: Door) -> None:
    """ "undo" is English in every language."""
    await door.onboard("amelia/scott", SCOTT)
    await door.mail(GERMAN, extra="Content-Language: en-US\r\n")
    other = await door.mail("Please change the title of the page to Spring", number="2")
    reply = await door.mail(
        "undo", number="3", answers="<1@example.com>", extra="Content-Language: en-US\r\n"
    )
    assert (other.language, reply.language) == (Language.ENGLISH, Language.GERMAN)


async def test_one_word_in_a_new_thread_is_in_the_language_written_last(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    await door.mail(GERMAN)
    assert (await door.mail("Merci!!1", number="2")).language is Language.GERMAN


async def test_a_header_counts_where_nothing_else_does(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    assert (await door.mail("undo", extra="Content-Language: es-ES\r\n")).language is Language.SPANISH


async def test_a_stranger_is_answered_in_their_language_too(door: Door) -> None:
    await door.onboard("amelia/scott", SCOTT)
    record = await door.mail(GERMAN, sender="eve@example.org")
    assert record.language is Language.GERMAN
