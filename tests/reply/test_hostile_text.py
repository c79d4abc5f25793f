"""Whatever people, machines and attackers write, a letter stays one well-formed letter."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.any_value import any_value
from tests.reply.letters import JOB, MAIL, OURS, Read, composed, job, mail, read, written
from webordinary.core.facts import Accepted, PreviewFacts
from webordinary.core.job import JobId, JobState
from webordinary.core.mail import FACTS_OF, FileProblem, KeptFile, Letter, LetterKind, SessionId, SkippedFile
from webordinary.reply.compose import Letterhead
from webordinary.reply.context import Case

OUR_HEADERS = {
    "Content-Language",
    *("From", "To", "Reply-To", "Subject", "Date", "Message-ID", "In-Reply-To", "References"),
    *("X-Webordinary-Session", "Auto-Submitted", "X-Auto-Response-Suppress", "MIME-Version", "Content-Type"),
}
LINE_BYTES = 998  # of RFC 5322

INJECTIONS = [
    "hi\r\nBcc: eve@evil.example",
    "hi\nBcc: eve@evil.example",
    "hi\rBcc: eve@evil.example",
    "hi\r\n\r\n<b>another body</b>",
    "hi\x00there",
    "hi\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029Bcc: eve@evil.example",
    "=?utf-8?q?hi=0D=0ABcc:_eve@evil.example?=",
    "=?utf-8?b?aGkNCkJjYzogZXZlQGV2aWwuZXhhbXBsZQ==?=",
    "\ud800 half of a pair",
    "abc\u202egnp.exe",
]
SCRIPTS = [
    "春のセールのタイトルを変更してください",
    "Frühlingsangebot für Größe XL",
    "🌷👩‍👩‍👧‍👦 family photo 🏳️‍🌈",
    "שנה את הכותרת של דף הבית",
    "غيّر عنوان الصفحة الرئيسية",
    "e\u0301 and Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d",
]


class Elements(HTMLParser):
    """Which elements and attributes a page has."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs


def check(letter: Read) -> None:
    """Say what is true of every letter."""
    assert all(len(line) <= LINE_BYTES for line in letter.raw.split(b"\r\n"))
    assert letter.raw.replace(b"\r\n", b"").count(b"\n") == letter.raw.replace(b"\r\n", b"").count(b"\r") == 0
    assert b"\x00" not in letter.raw
    letter.raw.decode("ascii")  # nothing that a relay without 8BITMIME would spoil
    names = [line.partition(":")[0] for line in letter.header_lines]
    assert set(names) <= OUR_HEADERS
    assert len(names) == len(set(names))
    assert [part.get_content_type() for part in letter.message.walk()] == [
        *("multipart/alternative", "text/plain", "text/html"),
    ]
    assert not letter.message.defects
    elements = Elements(letter.html)
    assert not {"script", "img", "link", "iframe", "object", "form", "input", "base", "video"} & set(
        elements.tags
    )
    assert not {
        name for name, _ in elements.attributes if name.startswith("on") or name in {"src", "background"}
    }
    assert "\x00" not in letter.text
    assert not re.search("[\u202a-\u202e\u2066-\u2069]", letter.text + letter["Subject"])


@pytest.mark.parametrize("words", INJECTIONS)
@pytest.mark.parametrize("kind", [LetterKind.DONE, LetterKind.ASKED, LetterKind.CONFIRM])
def test_nothing_that_is_quoted_becomes_a_header_or_a_body(words: str, kind: LetterKind) -> None:
    about = job(JobState.DONE, instruction=words, note=words) if kind is LetterKind.DONE else None
    file = SkippedFile(words, FileProblem.OTHER)
    answered = mail(subject=words, message_id=f"<{words}@x>", references=(words,), skipped=(file,))
    given: dict[LetterKind, dict[str, object]] = {
        LetterKind.DONE: {"preview": PreviewFacts(words, address=words), "also": (words,)},
        LetterKind.ASKED: {"projects": (words,)},
        LetterKind.CONFIRM: {"token": words, "excerpt": words},
    }
    letter = written(kind, about, answered, None, **given[kind])
    check(letter)
    assert letter.message["Bcc"] is None
    assert "\n" not in letter["Subject"]


@pytest.mark.parametrize("words", [*INJECTIONS, "Web, Ordinary", 'a "quoted" <name@x>', "Größe", "花 屋", ""])
def test_our_own_name_may_be_anything(words: str) -> None:
    ours = Letterhead(OURS.address, OURS.key, name=words)
    letter = read(composed(Letter("a", LetterKind.HELP), Case(MAIL), ours).content)
    check(letter)
    (author,) = letter.message["From"].addresses
    assert author.addr_spec == OURS.address


@pytest.mark.parametrize("words", SCRIPTS)
def test_every_script_arrives_as_it_was_written(words: str) -> None:
    letter = written(LetterKind.DONE, job(JobState.DONE, instruction=words, note=words), mail(subject=words))
    check(letter)
    assert letter["Subject"] == f"Re: {words}"
    assert letter.text.count(words) == 2
    assert letter.html.count(words) == 2


@pytest.mark.parametrize("word", ["a" * 400, "many words " * 40, "花" * 400, "🌷" * 400, "é " * 200])
def test_a_long_subject_survives_folding(word: str) -> None:
    letter = written(LetterKind.DONE, JOB, mail(subject=word))
    check(letter)
    assert letter["Subject"] == f"Re: {word.strip()}"


def test_an_endless_subject_is_cut() -> None:
    letter = written(LetterKind.DONE, JOB, mail(subject="x" * 100_000))
    check(letter)
    assert len(letter["Subject"]) < 600


def test_each_line_with_encoded_words_is_short_enough_for_old_programs() -> None:
    raw = written(LetterKind.DONE, JOB, mail(subject="花" * 300)).raw
    lines = raw.split(b"\r\n\r\n")[0].split(b"\r\n")
    assert max(len(line) for line in lines if b"=?" in line) <= 76


def test_html_in_a_wish_is_shown_not_obeyed() -> None:
    words = "<script>alert(1)</script> & <img src=x onerror=y> \"'"
    letter = written(LetterKind.FAILED, job(JobState.FAILED, instruction=words, note=words))
    check(letter)
    assert "&lt;script&gt;" in letter.html
    assert words in letter.text


def test_a_dollar_in_a_wish_is_a_dollar() -> None:
    """What is put into a template is never read as a template again."""
    words = "Set the price to $5, ${project} and $$ ?edited"
    letter = written(LetterKind.DONE, job(JobState.DONE, instruction=words, note=words))
    assert letter.text.count(words) == 2


def test_thousands_of_files_do_not_make_an_endless_letter() -> None:
    files = tuple(SkippedFile(f"file {number}", FileProblem.TOO_MANY) for number in range(5000))
    letter = written(LetterKind.DONE, job(JobState.DONE), mail(skipped=files))
    assert "and 4980 more" in letter.text
    assert len(letter.raw) < 20_000


ANYTHING = st.text() | st.sampled_from(INJECTIONS + SCRIPTS) | st.text("\r\n\x00 :<>@=?$\"'", max_size=40)


@st.composite
def any_letter(draw: st.DrawFn) -> Letter:
    kind = draw(st.sampled_from(LetterKind))
    wanted = FACTS_OF.get(kind)
    facts = draw(st.none() | any_value(wanted, ANYTHING)) if wanted else None
    return Letter(draw(ANYTHING), kind, facts=facts)


@settings(max_examples=300, deadline=None)
@given(
    owed=any_letter(),
    texts=st.lists(ANYTHING, min_size=11, max_size=11),
    has_job=st.booleans(),
    other=st.booleans(),
)
@example(
    owed=Letter("a", LetterKind.ACCEPTED, facts=Accepted(10**300)),
    texts=["\r\n.\r\n"] * 11,
    has_job=True,
    other=True,
)
def test_composing_never_fails_and_never_leaves_its_headers(
    owed: Letter, texts: list[str], has_job: bool, other: bool
) -> None:
    subject, message_id, reference, session, name, reason, instruction, note, by, blob, newer = texts
    answered = mail(
        subject=subject,
        message_id=message_id,
        references=(reference, message_id),
        session=SessionId(session),
        files=(KeptFile(name, blob, blob),),
        skipped=(SkippedFile(name, FileProblem(reason)),),
    )
    told = (
        job(instruction=instruction, note=note, interrupted_by=JobId(by), interrupted=True)
        if has_job
        else None
    )
    case = Case(answered, told, job(instruction=newer) if other else None)
    letter = read(composed(owed, case).content)
    check(letter)
    (recipient,) = letter.message["To"].addresses
    assert recipient.addr_spec == MAIL.from_address
