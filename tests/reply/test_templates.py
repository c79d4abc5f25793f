"""The words live in files, and the files are where an installed program looks for them."""

import re
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder
from jinja2 import Environment, UndefinedError, meta

from tests.reply.letters import JOB, MAIL
from tests.reply.test_languages import texts
from webordinary.core.language import Language
from webordinary.core.mail import Letter, LetterKind
from webordinary.reply.context import Case, context_of
from webordinary.reply.rendering import PARTS, LetterForm, phrases, rendered

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "src" / "webordinary" / "reply" / "templates"
PARTS_AND_WORDS = {*PARTS, "say", "say_all", "layout", "language", "pictures"}
LAYOUTS = {"text", "html", "text_parts", "html_parts", "opening"}
CONTEXTS = {kind: context_of(Letter("a", kind), Case(MAIL, JOB), "edit@x") for kind in LetterKind}


def source(kind: str) -> str:
    return (TEMPLATES / f"{kind}.jinja").read_text("utf-8")


def test_every_kind_of_letter_has_its_template_and_every_language_its_words() -> None:
    assert {path.stem for path in TEMPLATES.glob("*.jinja")} == set(LetterKind) | LAYOUTS
    assert {path.stem for path in TEMPLATES.glob("*.toml")} == set(Language)


@pytest.mark.parametrize("language", Language)
@pytest.mark.parametrize("kind", LetterKind)
def test_every_letter_is_written_in_every_language_whatever_it_is_about(
    kind: LetterKind, language: Language
) -> None:
    """A misspelt name would be found by the first person who should get the letter."""
    for text in texts(kind, language):
        title, _, rest = text.partition("\n\n")
        assert title.strip()
        assert "\n-- \n" in rest
        assert "\n\n\n" not in text
        assert text == text.strip() + "\n"


@pytest.mark.parametrize("kind", LetterKind)
def test_a_template_names_only_facts_that_its_letter_has(kind: LetterKind) -> None:
    """Also in a branch that no sample takes."""
    environment = Environment(autoescape=True)
    named = meta.find_undeclared_variables(environment.parse(source(kind) + source("opening")))
    assert named - PARTS_AND_WORDS <= CONTEXTS[kind].keys()
    for name in re.findall(r'say(?:_all)?\("(\w+)"\)', source(kind)):
        assert phrases().of_letter(kind, name)


def test_every_sentence_is_said() -> None:
    """One that no letter says any more need not be translated."""
    for kind in LetterKind:
        said = set(re.findall(r'"(\w+)"', source(kind)))
        assert phrases().sections[kind].keys() <= said
    everything = "".join(path.read_text("utf-8") for path in TEMPLATES.glob("*.jinja"))
    assert phrases().sections["letter"].keys() <= set(re.findall(r'"(\w+)"', everything))


def test_a_fact_that_is_missing_is_no_hole_in_a_letter() -> None:
    with pytest.raises(UndefinedError, match="project"):
        rendered(
            LetterForm.TEXT,
            LetterKind.STATUS,
            {"request": "", "topic": "", "running": "", "waiting": 0, "reference": ""},
        )


@pytest.mark.parametrize(
    "words", ["{{ 7 * 7 }}", "{project}", "{0.__class__}", "{% raw %}", "*undo*", "${x}"]
)
def test_a_fact_is_never_read_as_a_template(words: str) -> None:
    """A mail can say anything."""
    context = {**CONTEXTS[LetterKind.UNCLEAR], "words": words, "topic": words, "request": words}
    assert rendered(LetterForm.TEXT, LetterKind.UNCLEAR, context).count(words) == 3
    assert rendered(LetterForm.HTML, LetterKind.UNCLEAR, context).count(words) == 3


def test_a_letter_loads_nothing_from_anywhere() -> None:
    """Remote pictures tell a stranger when a letter is read, and programs hide letters that have them."""
    for name in ("html", "html_parts"):
        text = source(name).replace('<img src="cid:', "")
        assert not re.search(r"<img|src=|url\(|@import|https?:|<script|<link", text)


def test_a_template_becomes_text_and_html() -> None:
    """One file says it in both forms: nobody is told less because of the program they read mail with."""
    facts = {"files": ("<a>.jpg", "b & c.jpg"), "stop_link": "mailto:x?a&b", "request": "", "topic": "t"}
    context = {**CONTEXTS[LetterKind.ACCEPTED], **facts}
    text = rendered(LetterForm.TEXT, LetterKind.ACCEPTED, context)
    assert "\n\nFiles that came with it:\n- <a>.jpg\n- b & c.jpg\n\n" in text
    assert "To call it off, reply “stop”.\n\n-- \n" in text
    html = re.sub(r' (?:style|dir)="[^"]*"', "", rendered(LetterForm.HTML, LetterKind.ACCEPTED, context))
    assert "<p>Files that came with it:</p><ul><li>&lt;a&gt;.jpg</li><li>b &amp; c.jpg</li></ul>" in (
        html.replace("\n", "")
    )
    assert "reply <b>stop</b>.</p>" in html
    assert '<p><a href="mailto:x?a&amp;b">Stop it</a></p>' in html


def test_the_signature_is_parted_as_mail_programs_expect() -> None:
    """Two dashes and a space, alone on a line: programs fade what follows, and leave it out of answers."""
    assert "\n-- \nWebordinary" in rendered(LetterForm.TEXT, LetterKind.HELP, CONTEXTS[LetterKind.HELP])


def test_the_wheel_has_every_template(tmp_path: Path) -> None:
    """What works in a checkout must work when installed."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        packed = {
            name.partition("/templates/")[2] for name in archive.namelist() if "/reply/templates/" in name
        }
    assert packed == {path.name for path in TEMPLATES.iterdir()}
