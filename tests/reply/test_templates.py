"""The words live in files, and the files are where an installed program looks for them."""

import re
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

from tests.reply.letters import JOB, MAIL
from webordinary.core.mail import Letter, LetterKind
from webordinary.reply import filling
from webordinary.reply.facts import Case, facts_of
from webordinary.reply.filling import Filled, Paragraph, Sheet

ROOT = Path(__file__).resolve().parents[2]
TEMPLATES = ROOT / "src" / "webordinary" / "reply" / "templates"
FILES = sorted(path.name for path in TEMPLATES.iterdir())


def test_every_kind_of_letter_has_its_text_and_its_html() -> None:
    names = [*LetterKind, "layout"]
    assert sorted([f"{name}.txt" for name in names] + [f"{name}.html" for name in names]) == FILES


@pytest.mark.parametrize("name", FILES)
def test_a_template_names_only_facts_that_exist(name: str) -> None:
    """A misspelt name would be found by the first person who should get the letter."""
    known = {*facts_of(Letter("a", LetterKind.DONE), Case(MAIL, JOB), "edit@x"), "title", "body"}
    named = {fact for part in Sheet(name).paragraphs for fact in part.needs | part.forbids}
    assert named <= known


def test_every_fact_is_used() -> None:
    facts = facts_of(Letter("a", LetterKind.DONE), Case(MAIL, JOB), "edit@x")
    named = {fact for name in FILES for part in Sheet(name).paragraphs for fact in part.needs | part.forbids}
    assert set(facts) <= named


@pytest.mark.parametrize("kind", LetterKind)
def test_text_and_html_have_the_same_paragraphs(kind: LetterKind) -> None:
    """Nobody should be told less because of the program they read mail with."""
    text, html = Sheet(f"{kind}.txt"), Sheet(f"{kind}.html")
    links_of_html = {"answer"}
    named_in_text = [part.needs for part in text.paragraphs]
    named_in_html = [part.needs for part in html.paragraphs if not part.needs & links_of_html]
    assert named_in_text == named_in_html


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith(".html")])
def test_a_template_loads_nothing_from_anywhere(name: str) -> None:
    """Remote pictures tell a stranger when a letter is read, and programs hide letters that have them."""
    text = (TEMPLATES / name).read_text()
    assert not re.search(r"<img|src=|url\(|@import|https?:|<script|<link", text)


def test_a_paragraph_without_its_fact_is_left_out() -> None:
    paragraph = Paragraph.read("?a !b\nHello ${c}")
    assert paragraph.wanted({"a": "yes", "b": "", "c": "you"})
    assert not paragraph.wanted({"a": "", "b": "", "c": "you"})
    assert not paragraph.wanted({"a": "yes", "b": "yes", "c": "you"})
    assert not paragraph.wanted({"a": "yes", "b": "", "c": ""})
    assert paragraph.template.substitute(c="you") == "Hello you"


def test_the_signature_is_parted_as_mail_programs_expect() -> None:
    """Two dashes and a space, alone on a line: programs fade what follows, and leave it out of answers."""
    facts = facts_of(Letter("a", LetterKind.HELP), Case(MAIL), "edit@x")
    text = filling.sheet("layout.txt").frame(Filled("title", "body"), facts)
    assert "\n-- \nWebordinary" in text


def test_the_wheel_has_every_template(tmp_path: Path) -> None:
    """What works in a checkout must work when installed."""
    (wheel,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"])
    with zipfile.ZipFile(wheel) as archive:
        packed = {Path(name).name for name in archive.namelist() if "/reply/templates/" in name}
    assert packed == set(FILES)
