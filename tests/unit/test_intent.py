"""What a mail wants: each wish as people write it, and beside it what must not be taken for it."""

import pytest

from tests.unit.intent_phrases import (
    APPROVALS,
    COURTESY,
    HELP,
    INSTRUCTIONS,
    REDO,
    STATUS,
    STOP,
    UNCLEAR,
    UNDO,
)
from webordinary.identify.intent import Wish, is_reaction, read_wish, said, says_yes


@pytest.mark.parametrize("text", COURTESY)
def test_thanks_and_praise_ask_for_nothing(text: str) -> None:
    """ "Great, thanks a lot!" once stopped a running edit."""
    assert read_wish(text, names=("mary", "scott")) is Wish.COURTESY


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_a_word_that_says_more_makes_it_an_instruction(text: str) -> None:
    """What is taken for politeness or for a command is read by no model: its sender would wait in vain."""
    assert read_wish(text, names=("mary", "scott")) is Wish.EDIT


@pytest.mark.parametrize("text", APPROVALS)
def test_an_approval_is_understood_as_people_write_it(text: str) -> None:
    assert read_wish(text, names=("mary", "scott")) is Wish.PUBLISH


@pytest.mark.parametrize("text", UNCLEAR)
def test_a_command_that_is_denied_put_off_or_asked_about_is_carried_out_by_nobody(text: str) -> None:
    """Everybody would see what somebody had just said not to show."""
    assert read_wish(text) is Wish.UNCLEAR


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        *((Wish.UNDO, text) for text in UNDO),
        *((Wish.REDO, text) for text in REDO),
        *((Wish.STOP, text) for text in STOP),
        *((Wish.STATUS, text) for text in STATUS),
        *((Wish.HELP, text) for text in HELP),
    ],
)
def test_the_other_words_are_known_in_several_languages(wish: Wish, text: str) -> None:
    assert read_wish(text) is wish


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Thanks!\n\nClosed Mondays", ("mary",)),
        ("Perfect!\n\nMonday", ("mary",)),
        ("Thanks!\n\nMary", ()),
    ],
)
def test_a_last_line_is_a_name_only_if_it_is_the_senders(text: str, names: tuple[str, ...]) -> None:
    """Anything else there may be what the site should say."""
    assert read_wish(text, names=names) is Wish.EDIT


@pytest.mark.parametrize(
    ("subject", "wish"),
    [
        ("publish", Wish.PUBLISH),
        ("[queue] publish", Wish.PUBLISH),
        ("Thanks!", Wish.COURTESY),
        ("Re: publish", Wish.EDIT),
        ("AW: Veröffentlichen", Wish.EDIT),
    ],
)
def test_an_empty_mail_says_it_in_its_subject_unless_that_is_a_replys(subject: str, wish: Wish) -> None:
    assert read_wish("  \n", subject) is wish
    assert read_wish("Make it blue", subject) is Wish.EDIT


def test_the_subject_of_a_reply_is_no_instruction() -> None:
    assert said("", "Re: publish") == ""
    assert said("", "Opening hours: nine to five") == "Opening hours: nine to five"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Ja, das war ich",
            "yes that was me",
            "Oui",
            "sí claro",
            "Hi, yes",
            "It was me!",
            "C'était moi",
            "ok",
        ),
        *(
            "Yes\n\nScott",
            "Sì, sono stato io",
            "si",
            "I confirm",
            "Ich bestätige das",
            "Je confirme",
            "It's me",
        ),
    ],
)
def test_a_yes_is_understood(text: str) -> None:
    assert says_yes(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "that was not me",
            "No",
            "Yes, but it was not me",
            "Nein",
            "was that me?",
            "Yes?",
            "I never said yes",
        ),
        *("yesterday", "", "Das war ich nicht", "Ce n'était pas moi", "somebody else, yes"),
        *("Yes, I was hacked", "ok what is this", "I can't confirm", "Ich bestätige nichts, das war Betrug"),
    ],
)
def test_only_a_clear_yes_confirms(text: str) -> None:
    """A confirmation lets somebody into a site."""
    assert not says_yes(text)


def test_a_reaction_is_told_from_words_about_one() -> None:
    assert is_reaction("👍\n\nScott reacted via Gmail")
    assert is_reaction("Scott reacted to your message:\n\n❤️")
    assert not is_reaction("Write on the home page how our guests reacted")
