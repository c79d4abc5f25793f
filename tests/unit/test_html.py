"""The one HTML tokenizer: every piece with its place in the source, and no input that makes it slow."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webordinary.core.html import Close, Open, Text, tokens, written_attributes
from webordinary.core.page_outline import outline

PIECES = [
    "<p>",
    "</p>",
    "<b x='1>2'>",
    "<!-- x -->",
    "<!doctype html>",
    "<script>",
    "</script>",
    "<",
    ">",
    "'",
]
MARKUP = st.lists(st.sampled_from([*PIECES, "<a href=x y", "&amp;", "text", '"', " ", "<title>", "--"])).map(
    "".join
)


@given(MARKUP)
def test_pieces_are_in_order_and_where_they_say(html: str) -> None:
    """The demo agent writes where a piece says it is: a wrong place would spoil the page."""
    end = 0
    for token in tokens(html):
        assert end <= token.start < token.end <= len(html)
        end = token.end
        written = html[token.start : token.end]
        match token:
            case Open(tag):
                assert written.lower().startswith(f"<{tag}")
                assert written.endswith(">")
            case Close(tag):
                assert written.lower().startswith(f"</{tag}")
            case Text(text):
                assert len(text) <= len(written)
                assert "<p>" not in written


@given(MARKUP)
def test_an_outline_says_where_its_texts_are(html: str) -> None:
    shown = outline(html)
    for block in shown.texts:
        assert block.text
        assert all(0 <= text.start < text.end <= len(html) for text in block.texts)


HOSTILE = [
    *(
        "<div>",
        "<!--",
        "<!-- x -->",
        "<a b='",
        '<a b="',
        "<",
        "</",
        "</a",
        "<a ",
        "<a b = ",
        "<a x='<b y=\"",
        "<?",
    ),
    *("&", "<script>", "<title></title", "\t", " /", " x", "<p hidden>", "<a href=x>", "<li>", "<svg><p>"),
]


@pytest.mark.parametrize("piece", HOSTILE)
def test_hostile_input_costs_linear_time(piece: str) -> None:
    """A reader that looks back once too often would run into the suite's time limit here."""
    page = "<a" + piece * 60_000 if piece.startswith(("\t", " ")) else piece * 60_000
    assert sum(1 for _ in tokens(page)) <= len(page)
    outline(page)


def test_where_attributes_are_written() -> None:
    html = "<img src=a.jpg  ALT='x &amp; y' hidden src=b>"
    (tag,) = tokens(html)
    assert isinstance(tag, Open)
    assert tag.attributes == {"src": "a.jpg", "alt": "x & y", "hidden": ""}
    written = written_attributes(html, tag)
    assert {name: html[one.start : one.end] for name, one in written.items()} == {
        "src": " src=a.jpg",
        "alt": "  ALT='x &amp; y'",
        "hidden": " hidden",
    }
    assert written["alt"].value is not None
    assert html[slice(*written["alt"].value)] == "'x &amp; y'"


def test_what_a_page_shows() -> None:
    shown = outline(
        "<title>A &amp; B</title><h1>One</h1><p>Two <b>three</b><br>four<ul><li>five<li>six</ul>"
        "<a href=x.html><img src=y.jpg alt='A  pic'> seven</a><p hidden>no<p>eight<noscript>no</noscript>"
        "<svg><title>no</title></svg><template>no</template>"
    )
    assert shown.title == "A & B"
    assert [(block.text, block.level) for block in shown.texts] == [
        ("One", 1),
        ("Two three", 0),
        ("four", 0),
        ("five", 0),
        ("six", 0),
        ("seven", 0),
        ("eight", 0),
    ]
    assert [(link.label, link.href) for link in shown.links] == [("seven", "x.html")]
    assert [(picture.src, picture.alt) for picture in shown.pictures] == [("y.jpg", "A pic")]
    assert [block.is_whole for block in shown.texts] == [True, False, False, True, True, False, True]
