"""Replies land in their thread, in Gmail and in Outlook, and answers to them find their conversation."""

from email.utils import parsedate_to_datetime

import pytest

from tests.reply.letters import JOB, KEY, MAIL, NOW, OURS, SESSION, composed, job, mail, read, written
from webordinary.core.errors import BadInput
from webordinary.core.facts import Ending
from webordinary.core.job import JobState
from webordinary.core.mail import Letter, LetterKind
from webordinary.core.signed_addresses import session_from_address
from webordinary.reply.compose import Letterhead, Unanswerable, compose
from webordinary.reply.context import Case
from webordinary.reply.headers import ID_CHARACTERS, REFERENCES_MAX


def test_a_reply_names_the_mail_it_answers_and_the_thread_before_it() -> None:
    letter = written(LetterKind.DONE, JOB, mail(references=("<a@x>", "<b@x>")))
    assert letter["In-Reply-To"] == MAIL.message_id
    assert letter["References"] == f"<a@x> <b@x> {MAIL.message_id}"


def test_a_mail_that_is_among_its_own_references_is_named_once() -> None:
    letter = written(LetterKind.DONE, JOB, mail(references=(MAIL.message_id, "<b@x>", "<b@x>")))
    assert letter["References"] == f"<b@x> {MAIL.message_id}"


def test_a_long_thread_keeps_its_beginning_and_its_end() -> None:
    """The first id names the thread for Gmail; the last ones are what other programs hang the reply on."""
    letter = written(LetterKind.DONE, JOB, mail(references=tuple(f"<{n}@x>" for n in range(500))))
    ids = letter["References"].split()
    assert len(ids) == REFERENCES_MAX
    assert ids[0] == "<0@x>"
    assert ids[-2:] == ["<499@x>", MAIL.message_id]


def test_a_long_message_id_is_left_exactly_as_it_is() -> None:
    """The standard library would write it as an encoded word, and no program would find the thread."""
    long_id = f"<{'A' * 200}@EURPRD04.prod.outlook.example>"
    letter = written(LetterKind.DONE, JOB, mail(message_id=long_id, references=(long_id.replace("A", "B"),)))
    assert f"In-Reply-To: {long_id}" in letter.header_lines
    assert f"References: {long_id.replace('A', 'B')} {long_id}" in letter.header_lines


@pytest.mark.parametrize(
    "broken", ["", "<>", "<a b@x>", "<ä@x>", "<a@x>\r\nBcc: <eve@x>", f"<{'a' * ID_CHARACTERS}@x>"]
)
def test_an_id_that_could_not_stand_in_a_header_is_left_out(broken: str) -> None:
    letter = written(LetterKind.DONE, JOB, mail(message_id=broken, references=("<a@x>", broken)))
    assert letter.message["In-Reply-To"] is None
    assert letter["References"] == "<a@x>"


def test_an_id_without_brackets_gets_them() -> None:
    assert written(LetterKind.DONE, JOB, mail(message_id="abc@x"))["In-Reply-To"] == "<abc@x>"


@pytest.mark.parametrize(
    ("subject", "answered"),
    [
        ("Spring sale", "Re: Spring sale"),
        ("Re: Spring sale", "Re: Spring sale"),
        ("RE: AW: Sv: Re[2]: re : Spring sale", "Re: Spring sale"),
        ("Antw: Frühling", "Re: Frühling"),
        ("回复：春の セール", "Re: 春の セール"),
        ("Fwd: Spring sale", "Re: Fwd: Spring sale"),
        ("Really: a colon", "Re: Really: a colon"),
        ("Reopening", "Re: Reopening"),
        ("  two   spaces\tand\na line ", "Re: two spaces and a line"),
        ("", "Re:"),
        ("Re: ", "Re:"),
    ],
)
def test_the_subject_stays_the_same_with_one_re(subject: str, answered: str) -> None:
    """Gmail parts a thread when the subject changes, and a pile of Re: and AW: helps nobody."""
    assert written(LetterKind.DONE, JOB, mail(subject=subject))["Subject"] == answered


def test_without_subject_and_id_there_is_no_thread_and_the_subject_says_something() -> None:
    assert (
        written(LetterKind.UNREADABLE, answered=mail(subject="", message_id=""))["Subject"]
        == "Re: your message"
    )


def test_the_same_letter_is_the_same_message() -> None:
    """After a crash a letter goes out again; whoever knows Message-IDs then shows it once."""
    letter = Letter(JOB.id, LetterKind.DONE, facts=Ending("Done it."))
    first, second = (composed(letter, Case(MAIL, JOB)) for _ in range(2))
    assert first == second
    later = compose(letter, Case(MAIL, job(JobState.DONE)), OURS, NOW + 3600)
    assert not isinstance(later, Unanswerable)
    assert later.message_id == first.message_id
    assert read(first.content)["Message-ID"] == first.message_id
    assert first.message_id.endswith("@webordinary.example>")


def test_another_letter_is_another_message() -> None:
    letters = [Letter(about, kind) for about in ("a", "b", "a.done") for kind in LetterKind]
    ids = {composed(letter, Case(MAIL, JOB)).message_id for letter in letters}
    assert len(ids) == len(letters)


def test_a_reply_says_that_a_machine_wrote_it() -> None:
    """So that no holiday answerer answers us, and no other machine either."""
    letter = written(LetterKind.ACCEPTED, JOB)
    assert letter["Auto-Submitted"] == "auto-replied"
    assert letter["X-Auto-Response-Suppress"] == "All"
    assert letter.message["Precedence"] is None
    assert letter["From"] == "Webordinary <edit@webordinary.example>"
    assert letter["To"] == "amelia@flowers.example"
    assert parsedate_to_datetime(letter["Date"]).timestamp() == NOW


def test_an_answer_to_a_reply_finds_its_conversation() -> None:
    letter = written(LetterKind.DONE, JOB)
    (reply_to,) = letter.message["Reply-To"].addresses
    assert session_from_address(reply_to.addr_spec, KEY) == SESSION
    assert session_from_address(letter["X-Webordinary-Session"], KEY) == SESSION


def test_a_reply_outside_of_any_conversation_carries_no_token() -> None:
    letter = written(LetterKind.REFUSED, answered=mail(session=None))
    assert letter["Reply-To"] == "Webordinary <edit@webordinary.example>"
    assert letter.message["X-Webordinary-Session"] is None


@pytest.mark.parametrize(
    "address", ["", "nobody", "a b@x.example", "a@", "a@x..example", "ä@x.example", "a@-", "@x"]
)
def test_a_mail_without_a_usable_address_can_not_be_answered(address: str) -> None:
    case = Case(mail(from_address=address))
    assert isinstance(compose(Letter("a", LetterKind.HELP), case, OURS, NOW), Unanswerable)


def test_an_address_in_a_domain_of_another_script_is_written_for_the_wire() -> None:
    letter = written(LetterKind.HELP, answered=mail(from_address="amelia@blumen-grün.example"))
    assert letter["To"] == "amelia@xn--blumen-grn-ieb.example"


@pytest.mark.parametrize("address", ["edit", "edit+x@webordinary.example", "a b@webordinary.example"])
def test_we_need_an_address_of_our_own_that_can_carry_a_conversation(address: str) -> None:
    with pytest.raises(BadInput, match="address"):
        Letterhead(address, KEY)


def test_we_need_a_key_that_nobody_guesses() -> None:
    with pytest.raises(BadInput, match="16 bytes"):
        Letterhead("edit@webordinary.example", b"short")
