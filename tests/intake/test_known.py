"""What is left out of a mail is what its conversation holds already, and nothing else."""

from __future__ import annotations

import textwrap
from email.message import EmailMessage
from html import escape

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webordinary.core.mail import ParsedMail, Stretch, StretchKind, own_words
from webordinary.intake.known_history import new_stretches
from webordinary.intake.marked_text import Manner, marked
from webordinary.intake.read import read
from webordinary.work.prompt import Material, compose

LETTER = """Done!

You wrote: “Change the title to Spring Sale”

Your site amelia has been changed.

What I did:
I changed the title of the start page to Spring Sale.

Have a look:
https://sites.example.net/amelia/

This is a preview. If you like it, reply “publish” to show it to everybody.

Not what you meant? Reply “undo” to get the site back as it was, or just write what should be different.

--
Webordinary changes your site when you write to it. Reply “help” to see what you can write."""
EARLIER = "Change the title to Spring Sale"
KNOWN = (LETTER, EARLIER)
WROTE = "On Tue, May 12, 2026 at 9:58 AM Webordinary <edit@sites.example.net> wrote:"


def quoted(text: str, width: int = 70) -> str:
    lines = [
        wrapped
        for line in text.split("\n")
        for wrapped in textwrap.wrap(line, width, break_long_words=False) or [""]
    ]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def new_in(text: str, known: tuple[str, ...] = KNOWN, *, has_files: bool = False) -> list[tuple[str, str]]:
    stretches = marked([Stretch(StretchKind.OWN, text)], Manner.REPLY, {"scott"})
    found = new_stretches(stretches, known, has_files=has_files)
    return [(one.kind.value, one.text) for one in found if one.kind is not StretchKind.ATTRIBUTION]


@pytest.mark.parametrize("width", [30, 50, 76, 200])
def test_our_own_letter_comes_back_and_is_left_out(width: int) -> None:
    nested = f"{quoted(LETTER, width)}\n>\n> > On Mon, May 11, 2026 at 8:00 AM Scott wrote:\n> > > {EARLIER}"
    for history in (quoted(LETTER, width), nested, LETTER, quoted(quoted(LETTER, width), 300)):
        assert new_in(f"publish\n\n{WROTE}\n{history}") == [("own", "publish")]


def test_the_heading_of_a_known_mail_says_nothing_new() -> None:
    heading = (
        "____________\nFrom: Webordinary <edit@sites.example.net>\nSent: 12 May 2026 9:58\nSubject: Re: Site"
    )
    assert new_in(f"publish\n\n{heading}\n\n{LETTER}") == [("own", "publish")]
    assert new_in(f"{heading}\n\n{LETTER}") == []


def test_a_letter_whose_links_and_quotation_marks_were_changed_is_the_same() -> None:
    changed = LETTER.replace("“", '"').replace("”", '"').replace("https://", "https://safe.example/?url=")
    (own, (kind, rest)) = new_in(f"publish\n\n{WROTE}\n{quoted(changed)}")
    assert (own, kind) == (("own", "publish"), "quoted")
    assert rest == "> https://safe.example/?url=sites.example.net/amelia/"


def test_words_that_a_program_tore_off_a_quoted_line_belong_to_it() -> None:
    """They would make an instruction of "publish"."""
    whole = quoted(LETTER, 40)
    for line in ("write to it", "you can write", "Sale”"):
        torn = whole.replace(f"\n> {line}", f"\n{line}")
        assert torn != whole
        assert new_in(f"publish\n\n{WROTE}\n{torn}") == [("own", "publish")]


def test_answers_between_the_lines_stay_with_what_they_answer() -> None:
    done = "> I changed the title of the start page to Spring Sale."
    text = f"{done}\nIn blue, please.\n> This is a preview.\nNot yet."
    assert new_in(text) == [
        ("quoted", done),
        ("own", "In blue, please."),
        ("quoted", "> This is a preview."),
        ("own", "Not yet."),
    ]


def test_words_written_into_a_quote_without_marks_stay() -> None:
    """Outlook quotes without marks, and people answer in between."""
    written = LETTER.replace("Have a look:", "Make it Summer Sale instead.\n\nHave a look:")
    found = new_in(f"See below.\n\n{WROTE}\n\n{written}")
    assert found[0] == ("own", "See below.")
    assert "Make it Summer Sale instead." in found[1][1]
    assert "I changed the title" not in found[1][1]


def test_a_known_text_that_was_changed_is_whole() -> None:
    """Lines without those between them would be another text."""
    changed = LETTER.replace("Your site amelia", "Our site amelia").replace("just write", "kindly write")
    (_, (kind, text)) = new_in(f"Use this:\n\n{quoted(changed)}\n\n> ok")
    assert kind == "quoted"
    assert "> I changed the title of the start page to Spring Sale." in text


def test_own_words_are_never_left_out_whatever_is_known() -> None:
    assert new_in(LETTER) == [("own", LETTER)]
    assert new_in(EARLIER) == [("own", EARLIER)]


def test_where_no_own_words_are_left_the_doubtful_ones_are() -> None:
    assert new_in("> Please make it blue.\n> Thanks") == [("own", "Please make it blue.\nThanks")]
    assert new_in(f"{WROTE}\n\n{LETTER}\n\nMake it red") == [("own", "Make it red")]
    small = "This e-mail is confidential and intended for its addressee."
    assert new_in(f"{quoted(LETTER)}\n\n{small}")[-1] == ("own", small)


def test_a_photo_with_nothing_but_history_has_no_words() -> None:
    """Then the subject says what it is about; the history is no request."""
    assert new_in(f"{WROTE}\n{quoted(LETTER)}", has_files=True) == []
    (only,) = new_in(f"{WROTE}\n{quoted(LETTER)}", (), has_files=True)
    assert only[0] == "quoted"


def test_nothing_known_leaves_nothing_out() -> None:
    assert new_in(f"publish\n\n{WROTE}\n{quoted(LETTER)}", ()) == [
        ("own", "publish"),
        ("quoted", quoted(LETTER)),
    ]


# --- any mail ---------------------------------------------------------------------------------------------

WORDS = (
    "menu",
    "soup",
    "Legal notice",
    "--",
    "wrote:",
    "On 12 May 2026 at 9:58",
    "From: a@b.example",
    "e-mail",
)
SUBJECTS = ("Menu", "Re: Menu", "Fwd: Menu")
BLOCKS = (
    "{0}",
    "{0}\n{1}\n{2}",
    "> {0}\n> {1}",
    "> > {0}\n{1}\n> {2}",
    "-- \n{0}\n{1}",
    "--\n{0}\n{1}",
    "The testimonial that Mary wrote:\n{0}",
    f"{{0}} {WROTE}\n> {{1}}",
    f"{WROTE}\n{{0}}\n\n{{1}}",
    "-----Original Message-----\nFrom: a@b.example\nSent: 12 May 2026 9:58\nSubject: x\n\n{0}\n{1}",
    "---------- Forwarded message ---------\n{0}",
    "This e-mail is confidential. {0}\n{1}",
    "{0}\n\nSent from my iPhone",
    f"{WROTE}\n{quoted(LETTER, 50)}",
    LETTER,
)


@st.composite
def mails(draw: st.DrawFn) -> tuple[bytes, list[str]]:
    """A mail of random blocks, and every line of it that nobody has seen before."""
    lines: list[str] = []

    def line() -> str:
        words = draw(st.lists(st.sampled_from(WORDS), max_size=3))
        lines.append(" ".join([f"line{len(lines)}x", *words]))
        return lines[-1]

    picked = draw(st.lists(st.sampled_from(BLOCKS), min_size=1, max_size=6))
    blocks = [block.format(line(), line(), line()) for block in picked]
    written = [one for one in lines if any(one in block for block in blocks)]
    made = EmailMessage()
    made["From"], made["Subject"] = "Scott <scott@example.com>", draw(st.sampled_from(SUBJECTS))
    text = draw(st.sampled_from(("\n", "\n\n"))).join(blocks)
    if draw(st.booleans()):
        made.set_content(text)
    else:
        body = escape(text, quote=False).replace("\n", "<br>")
        tag = draw(
            st.sampled_from(("div", "blockquote", "div class=gmail_signature", "div class=gmail_quote"))
        )
        made.set_content(f"<{tag}>{body}</{tag.split()[0]}>", subtype="html")
    return made.as_bytes(), written


@settings(max_examples=300, deadline=None)
@given(mails())
def test_every_line_that_is_not_known_history_reaches_the_agent(case: tuple[bytes, list[str]]) -> None:
    """However it is marked: nothing that a person wrote is dropped on a guess."""
    raw, written = case
    mail = read(raw)
    assert isinstance(mail, ParsedMail)
    stretches = new_stretches(mail.stretches, KNOWN)
    prompt = compose("job", own_words(stretches) or mail.subject, Material(mail.subject, stretches))
    told = " ".join(line for line in prompt.split("\n") if not line.startswith(("<data-", "</data-"))).split()
    at, text = 0, " ".join(told)
    for line in written:
        assert line in text[at:], f"{line!r} is missing, or out of order"
        at = text.index(line, at)
