"""Which words are whose. The corpus has the mail programs; here are the rules between them."""

from __future__ import annotations

import pytest

from webordinary.core.mail import Stretch, StretchKind
from webordinary.core.text import one_line
from webordinary.intake.marked_text import Manner, is_attribution, manner, marked
from webordinary.intake.text_decoding import cleaned, decoded, unflowed

INTRODUCTIONS = [
    "On Tue, May 12, 2026 at 9:58 AM Scott Miller <scott@example.com> wrote:",
    "On 5/12/26 09:58, Scott Miller wrote:",
    "On Tuesday, May 12th, 2026 at 9:58 AM, Scott <scott@example.com> wrote:",
    "Am 12.05.26 um 09:58 schrieb Scott Miller:",
    "Am Di., 12. Mai 2026 um 09:58 Uhr schrieb Scott Miller <scott@example.com>:",
    "Le mar. 12 mai 2026 à 09:58, Scott <scott@example.com> a écrit :",
    "El mar, 12 may 2026 a las 9:58, Scott (<scott@example.com>) escribió:",
    "Il giorno mar 12 mag 2026 alle ore 09:58 Scott <scott@example.com> ha scritto:",
    "Op di 12 mei 2026 om 09:58 schreef Scott <scott@example.com>:",
    "Em ter., 12 de mai. de 2026 às 09:58, Scott <scott@example.com> escreveu:",
    "Den tis 12 maj 2026 kl 09:58 skrev Scott <scott@example.com>:",
    "wt., 12 maj 2026 o 09:58 Scott <scott@example.com> napisał(a):",
    "вт, 12 мая 2026 г. в 09:58, Scott <scott@example.com>:",
    "ti 12. toukok. 2026 klo 9.58 Scott (scott@example.com) <scott@example.com> kirjoitti:",
    "2026. máj. 12., K 9:58 időpontban Scott <scott@example.com> ezt írta:",
    "2026年5月12日(火) 9:58 Scott <scott@example.com>:",
    "2026/05/12 9:58、Scott <scott@example.com>のメール:",
    "Scott <scott@example.com> 于2026年5月12日周二 09:58写道：",
    "---- On Tue, 12 May 2026 09:58:00 +0200 scott@example.com wrote ----",
    "tir. 12. mai 2026 kl. 09:58 skrev Scott <scott@example.com>:",
    "út 12. 5. 2026 v 9:58 odesílatel Scott <scott@example.com> napsal:",
    "2026년 5월 12일 (화) 오전 9:58, Scott <scott@example.com>님이 작성:",
    "Στις Τρί 12 Μαΐ 2026 στις 9:58 π.μ., ο χρήστης Scott <scott@example.com> έγραψε:",
    "Scott <scott@example.com>, 12 May 2026 Sal, 09:58 tarihinde şunu yazdı:",
    "În mar., 12 mai 2026 la 09:58, Scott <scott@example.com> a scris:",
]
NAMES = frozenset({"scott", "miller"})
OWN_SENTENCES = [
    "On Monday we wrote:",
    "On 3 May the Daily News wrote:",
    "Please write to scott@example.com and say:",
    "Opening hours from 9:30 to 17:00:",
    "Am Montag schrieb er mir:",
    "The following wrote:",
    "Meeting at 10:00, ask scott@example.com:",
]


def read(text: str, how: Manner = Manner.NEW) -> dict[str, str]:
    """What is marked as what; stretches of one kind joined."""
    found: dict[str, str] = {}
    for stretch in marked([Stretch(StretchKind.OWN, text)], how, NAMES):
        found[stretch.kind.value] = "\n\n".join(filter(None, (found.get(stretch.kind.value), stretch.text)))
    return found


def own(text: str, how: Manner = Manner.NEW) -> str:
    return read(text, how).get("own", "")


@pytest.mark.parametrize("line", INTRODUCTIONS)
@pytest.mark.parametrize("history", ["> old words", "old words, not even marked"])
def test_an_attribution_and_its_quote_are_marked(line: str, history: str) -> None:
    found = read(f"Yes please.\n\n{line}\n\n{history}\n> and more", Manner.REPLY)
    assert found == {"own": "Yes please.", "attribution": line, "quoted": f"{history}\n> and more"}


@pytest.mark.parametrize("line", OWN_SENTENCES)
@pytest.mark.parametrize("following", ["first\nsecond", "> first\n> second"])
def test_a_sentence_that_only_sounds_like_an_attribution_is_ones_own(line: str, following: str) -> None:
    """Commands and the demo agent read the own words; they must be whole."""
    assert not is_attribution(line, has_quote=False)
    assert own(f"{line}\n{following}", Manner.REPLY).split("\n")[0] == line


def test_a_name_is_attribution_enough_right_before_a_quote() -> None:
    assert own("Yes.\n\nScott wrote:\n> really?", Manner.REPLY) == "Yes."
    assert own("Yes.\n\n2026/5/12 Scott Miller <s@example.com>\n\n> really?", Manner.REPLY) == "Yes."
    sentence = "Use the testimonial that Mary wrote:"
    assert own(f"{sentence}\n> Best bread", Manner.REPLY) == sentence
    assert own(sentence, Manner.REPLY) == sentence


@pytest.mark.parametrize(
    "line",
    [
        "On Tue, May 12, 2026 at 9:58 AM Scott Miller of the\nAmelia Bakery <\nscott@example.com> wrote:",
        "12 мая 2026 г. в 09:58 пользователь Scott Miller\n<scott@example.com> написал:",
        "вт, 12 мая 2026 г. в 09:58, Scott Miller <\nscott@example.com>:",
        "tir. 12. mai 2026 kl. 09:58 skrev Scott Miller <\nscott@example.com>:",
    ],
)
def test_a_wrapped_attribution_is_one(line: str) -> None:
    assert read(f"Yes.\n\n{line}\n> x", Manner.REPLY) == {"own": "Yes.", "attribution": line, "quoted": "> x"}


@pytest.mark.parametrize("line", INTRODUCTIONS)
def test_words_right_above_an_attribution_are_not_part_of_it(line: str) -> None:
    """Not everybody leaves an empty line."""
    found = read(f"Do this.\nOn the page as well.\n{line}\n> old", Manner.REPLY)
    assert found["own"] == "Do this.\nOn the page as well."


@pytest.mark.parametrize("before", ["Make it blue.", "Really?", "make it blue", "x " * 300 + "End."])
@pytest.mark.parametrize(
    "line", [one for one in INTRODUCTIONS if one.startswith(("On ", "Am ", "Le ", "El "))]
)
def test_words_before_an_attribution_on_its_line_are_ones_own(before: str, line: str) -> None:
    assert own(f"{before} {line}\n> old", Manner.REPLY) == before
    assert own(f"{before} {line}\nold", Manner.REPLY) == before


def test_a_name_with_a_full_stop_is_not_the_end_of_a_sentence() -> None:
    line = "On Tue, 12 May 2026 at 9:58, Dr. Amelia St. John <a@example.com> wrote:"
    assert read(f"Fine. {line}\n> old", Manner.REPLY)["attribution"] == line
    assert read(f"{line}\n> old", Manner.REPLY)["attribution"] == line


def test_an_earlier_mail_without_quote_marks_is_quoted_or_forwarded() -> None:
    """What comes in an answer is mostly known; in any other mail it may be what the mail is about."""
    text = "See below.\n\nFrom: Kitchen <k@example.com>\nSent: 12 May\nTo: Scott\nSubject: Menu\n\nSoup"
    assert "Soup" in read(text, Manner.REPLY)["quoted"]
    assert "Soup" in read(text, Manner.NEW)["forwarded"]
    assert "Soup" in read(text, Manner.FORWARD)["forwarded"]
    assert own(text) == "See below."


@pytest.mark.parametrize(
    "heading",
    [
        "-------- Oriĝinala mesaĝo --------\nDe: Scott <scott@example.com>\nDato: 12.5.2026 9:58\nTemo: y",
        "-----Originální zpráva-----\nOdesílatel: Scott <scott@example.com>\nDatum: 12.5.2026 9:58",
        "Pošiljatelj: Scott <scott@example.com>\nPoslano: 12. svibnja 2026. 9:58\nPrima: x\nPredmet: y",
    ],
)
def test_a_heading_is_known_by_its_shape(heading: str) -> None:
    """No list of languages is ever whole."""
    assert own(f"Yes.\n\n{heading}\n\nold", Manner.REPLY) == "Yes."


def test_an_event_is_not_a_heading() -> None:
    """Events have a from and a to; a mail also has an address, or the time at which it was sent."""
    text = "From: 1 May 2026\nTo: 3 May 2026\nSubject: Spring market\n\nPlease add this with a picture."
    assert own(text) == own(text, Manner.REPLY) == text


def test_an_earlier_mail_may_follow_on_the_line_that_says_who_wrote_it() -> None:
    """So writes Yahoo on phones."""
    line = "  On Tue, 12 May 2026 at 9:58, Scott<scott@example.com> wrote:"
    found = read(f"publish\n\n{line}   Your preview is there.\nHave a look.", Manner.REPLY)
    assert found["own"] == "publish"
    assert found["quoted"] == "Your preview is there.\nHave a look."
    assert own("Opening hours:  9:58 to 17:00 in 2026") == "Opening hours:  9:58 to 17:00 in 2026"


def test_marks_inside_a_quote_end_nothing() -> None:
    """Somebody answers below a quoted mail that was itself an answer or a forward."""
    for mark in (
        "-----Original Message-----",
        "---------- Forwarded message ---------",
        "Begin forwarded message:",
    ):
        earlier = f"On 5/12/26 09:58, Scott wrote:\n> Hello\n> {mark}\n> From: x\n> Shall I?"
        assert own(f"{earlier}\n\nYes.\n\n> And now?\n\nNo.", Manner.REPLY) == "Yes.\n\nNo."


def test_a_bare_signature_mark_needs_a_signature_below() -> None:
    """Two dashes alone may part two pieces of a text."""
    assert read("Do it.\n--\nScott\nBakery") == {"own": "Do it.", "signature": "--\nScott\nBakery"}
    assert read("Do it.\n--\nBakery\n+1 555 0100")["own"] == "Do it."
    assert read("Do it.\n-- \nBakery")["own"] == "Do it."
    for text in (
        "Our menu:\nSoup\n--\nRoast beef",
        "Our menu:\nSoup\n--\nRoast beef\n--\nCake by Scott",
        "Do it.\n--\n" + "\n".join(f"line {number} by scott" for number in range(13)),
        "Do it.\n--\n" + ("a long sentence by scott " * 11).rstrip(),
        "--\nDo it.",
        "The footer shall be:\n--\nScott\n+1 555 0100",
    ):
        assert own(text) == text


def test_a_signature_without_a_mark_begins_with_the_senders_name() -> None:
    """Outlook sets no mark, and "please publish" above a telephone number is an approval."""
    card = "Scott Miller\nBakery Ltd\n\n+1 555 0100"
    assert read(f"Please publish.\n\nKind regards\n{card}")["signature"] == card
    assert own(f"Please publish.\n\n{card}\nRegister 12345\nDirector: Scott Miller") == "Please publish."
    assert (
        own(f"Please publish.\n\n{card}\n\nPS: no, make it blue") == "Please publish.\n\nPS: no, make it blue"
    )
    for text in (
        card,
        f"Change our address to:\n\n{card}",
        "Add a page about\n\nScott Miller\nwho bakes",
        "Thanks!\n\nScott Miller\n+1 555 0100 is new, please change it on the site",
        f"Do it.\n\n{card} is where our guests call on Sundays and holidays, so please put it on top",
    ):
        assert own(text) == text


def test_small_print_starts_a_paragraph_below_the_words() -> None:
    small = "This e-mail is confidential and intended solely for its addressee."
    assert read(f"Do it.\n\n{small}\nMore of it.") == {"own": "Do it.", "legal": f"{small}\nMore of it."}
    assert own(f"Do it.\n______\n{small}") == "Do it."
    assert own(f"Write this below:\n{small}").endswith(small)
    assert own(small) == small


@pytest.mark.parametrize(
    "text",
    [
        "Please add a page with this text:\n\nLegal notice\nAmelia Bakery, 12 High Street",
        "Please add a page with this text:\n\nImprint\n\nLegal notice\n\nAmelia Bakery, 12 High Street",
        "Put this into the footer:\n\nThis e-mail is confidential and intended solely for its addressee.",
        "One more page, please.\n\nDisclaimer\n\nWe bake as well as we can.",
    ],
)
def test_a_text_for_the_site_may_be_legal(text: str) -> None:
    assert own(text) == text


@pytest.mark.parametrize(
    ("subject", "is_in_thread", "meant"),
    [
        ("Re: x", False, Manner.REPLY),
        ("AW: x", False, Manner.REPLY),
        ("Re[2]: x", False, Manner.REPLY),
        ("回复：x", False, Manner.REPLY),
        ("Fwd: Re: x", True, Manner.FORWARD),
        ("WG: x", True, Manner.FORWARD),
        ("TR : x", True, Manner.FORWARD),
        ("x", True, Manner.REPLY),
        ("x", False, Manner.NEW),
        ("Reset: x", False, Manner.NEW),
    ],
)
def test_a_subject_tells_an_answer_from_a_forward(subject: str, is_in_thread: bool, meant: Manner) -> None:
    assert manner(subject, is_in_thread=is_in_thread) is meant


@pytest.mark.parametrize(
    "line",
    [
        "Sent from my iPhone",
        "Sent from my Samsung Galaxy smartphone.",
        "Sent from Outlook for Android<https://aka.ms/AAb9ysg>",
        "Gesendet von meinem iPad",
        "Von meinem iPhone gesendet",
        "Envoyé de mon iPhone",
        "Enviado desde mi iPhone",
        "Inviato da iPhone",
        "Verstuurd vanaf mijn iPhone",
        "iPhoneから送信",
        "发自我的iPhone",
        "나의 iPhone에서 보냄",
        "Στάλθηκε από το iPhone μου",
        "iPhone'umdan gönderildi",
        "Lähetetty iPhonesta",
        "Odesláno z iPhonu",
        "Отправлено с iPhone",
        "Sendt fra min iPhone",
        "Sent from Mail for Windows",
        "Sent from Yahoo Mail on Android",
        "Diese Nachricht wurde von meinem Android-Gerät mit K-9 Mail gesendet.",
        "Outlook für iOS beziehen",
        "(sent from my phone)",
    ],
)
def test_what_a_phone_adds_is_no_ones_own_words(line: str) -> None:
    assert read(f"Do it.\n\n{line}\n") == {"own": "Do it.", "signature": line}
    assert own(f"Do it.\n\n{line}\nScott") == "Do it.\n\nScott"
    early = f"Do it.\n{line}\n1\n2\n3\n4"
    assert own(early) == early


def test_words_about_sending_stay_where_they_are_meant() -> None:
    """A wish that is taken for an advertisement leaves "Hi, thanks", which nobody answers."""
    for text in (
        "Sent from my heart\nis the new slogan.\n\nThe parcels are sent from my shop.",
        "Please add:\nTickets sent by e-mail",
        "The contact form should be sent by mail",
        "Hi,\nthe newsletter is sent to the wrong mail address.\nThanks, Scott",
        "Das Formular wird nicht per Mail gesendet",
        "Envoyez-moi un mail quand c'est fini",
        "Get the Outlook calendar onto the page",
        "Photos sent from my phone are too dark",
        "New steps\n1. Order\n2. Get it sent to your phone\n3. Enjoy",
    ):
        assert own(text) == text


def test_a_greeting_stays() -> None:
    """It may be the text that shall go onto the page; as a greeting it does no harm."""
    text = "Change the footer to:\n\nBest regards\nThe Amelia team"
    assert own(text) == text


def test_characters_that_nobody_sees_are_gone() -> None:
    """Tags and zero-width characters carry orders that only a model reads."""
    hidden = "".join(chr(0xE0000 + ord(letter)) for letter in "delete")
    assert cleaned(f"He{hidden}l\u200blo\u202e \u2066x\ufeff") == "Hello x"
    assert one_line("a\r\nb\u2028c\td", 7) == "a b c d"
    assert one_line("a\x1bb\u202ec") == "a b c"
    assert one_line("new \U0001fae9 emoji") == "new \U0001fae9 emoji"  # unassigned in Unicode 14
    assert cleaned("می\u200cخواهم 👩\u200d🍳") == "می\u200cخواهم 👩\u200d🍳"  # where they shape what is seen


@pytest.mark.parametrize(
    ("content", "charset", "meant"),
    [
        (b"gr\xfc\xdfe", "iso-8859-1", "grüße"),
        (b"gr\xfc\xdfe", "utf-8", "grüße"),
        (b"gr\xfc\xdfe", "", "grüße"),
        ("grüße".encode(), "us-ascii", "grüße"),
        ("grüße".encode(), "", "grüße"),
        ("grüße".encode() + b"\xff", "utf-8", "grüße\ufffd"),
        (b"\x93quoted\x94 \x80", "iso-8859-1", "“quoted” €"),
        ("日本語".encode("iso-2022-jp"), "", "日本語"),
        ("①髙".encode("cp932"), "Shift_JIS", "①髙"),
        ("日本語".encode("euc_jp"), "EUC-JP", "日本語"),
        ("한국어".encode("cp949"), "ks_c_5601-1987", "한국어"),
        ("中文".encode("gb18030"), "GB2312", "中文"),
        ("x".encode("utf-16"), "", "x"),
        ("grüße".encode(), "iso-2022-jp", "grüße"),
        (b"a-b", "punycode", "a-b"),
        (b"\\x41", "unicode_escape", "\\x41"),
        (b"x", "\x00", "x"),
        (b"a\xff", "euc-jp", "a\ufffd"),
    ],
)
def test_bytes_become_text_whatever_a_mail_says_about_them(content: bytes, charset: str, meant: str) -> None:
    assert decoded(content, charset) == meant


def test_flowed_lines_are_joined_within_one_depth() -> None:
    text = "a \nb\n> c \n> d \ne\n-- \nf \ng"
    assert unflowed(text, joins_words=False) == "a b\n> c d \ne\n-- \nf g"
    assert unflowed("to \ngether", joins_words=True) == "together"
