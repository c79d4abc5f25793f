"""What changed, told so that a person who knows no HTML understands it: two releases, page by page."""

import asyncio
import hashlib
from collections.abc import Mapping

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.waiting import HANG_SECONDS
from webordinary.core.json_codec import decode, encode
from webordinary.core.page_changes import PageChange
from webordinary.core.release import Release, ReleasedFile
from webordinary.publish.page_changes import (
    CHANGES_NAMED,
    PAGES_COMPARED,
    Version,
    page_changes,
    pages_to_read,
)
from webordinary.reply.rendering import phrases

Site = Mapping[str, str | bytes]


def _bytes(site: Site) -> dict[str, bytes]:
    return {path: text if isinstance(text, bytes) else text.encode() for path, text in site.items()}


def _release(site: Mapping[str, bytes]) -> Release:
    digests = {path: hashlib.sha256(content).hexdigest() for path, content in site.items()}
    return Release(tuple(ReleasedFile(path, len(site[path]), digests[path]) for path in sorted(site)))


def told(before: Site, after: Site, mailed: Mapping[str, str] | None = None) -> list[str]:
    """Compare two sites as the flows do, and tell it in English."""
    old, new = _bytes(before), _bytes(after)
    paths = pages_to_read(_release(old), _release(new))
    was, now = (
        Version.of(_release(site), {path: site[path] for path in paths if path in site})
        for site in (old, new)
    )
    names = {hashlib.sha256(new[path]).hexdigest(): name for path, name in (mailed or {}).items()}
    changes = page_changes(was, now, names)
    assert [decode(PageChange, encode(change)) for change in changes] == changes
    return [phrases().change(change) for change in changes]


def home(old: str, new: str) -> list[str]:
    return told({"index.html": old}, {"index.html": new})


UNSEEN = "Your home page has changed in a way that visitors hardly see."
PAGES = [
    (
        "<title>A</title><h1>A</h1>",
        "<title>B</title><h1>B</h1>",
        "The title and the heading on your home page now say “B”.",
    ),
    (
        "<title>Old</title>",
        "<title>New</title>",
        "The title on your home page, as browsers show it, is now “New”.",
    ),
    ("<h1>Sale</h1>", "<h1>Spring Sale</h1>", "The heading on your home page now says “Spring Sale”."),
    (
        "<title>Sale | Amelia</title><h1>Sale</h1>",
        "<title>Spring | Amelia</title><h1>Spring</h1>",
        "The heading on your home page now says “Spring”.",
    ),
    (
        "<h2>Our bread</h2>",
        "<h2>Fresh bread</h2>",
        "The heading “Our bread” on your home page now says “Fresh bread”.",
    ),
    (
        "<p>Our <b>bread</b></p>",
        "<p>Our <i>buns</i></p>",
        "The text on your home page now says “Our buns” instead of “Our bread”.",
    ),
    ("<p>a</p>", "<p>a</p><p>b &amp; c</p>", "There is new text on your home page: “b & c”."),
    ("<p>a<p>b<p>c", "<p>a<p>c", "This is no longer on your home page: “b”."),
    (
        "<p>a</p>",
        "<p>a</p><h2>Prices</h2>",
        "There is a new heading on your home page: “Prices”.",
    ),
    ("<h2>Prices</h2>x", "x", "The heading “Prices” is no longer on your home page."),
    ("<img src=a.jpg>", "<img src=images/b.jpg>", "The picture on your home page is now “b.jpg”."),
    (
        "<img src=a.jpg>",
        "<img src=b.jpg alt='Red tulips'>",
        "The picture on your home page is now “Red tulips”.",
    ),
    (
        "<img src=a.jpg alt=A>",
        "<img src=a.jpg alt=B>",
        "The description of a picture on your home page now says “B”.",
    ),
    ("<p>x</p>", "<p>x</p><img src=a.jpg>", "There is a new picture on your home page: “a.jpg”."),
    ("<img src=a.jpg alt=Logo>", "", "A picture is gone on your home page: “Logo”."),
    (
        "<a href=a.html>Shop</a>",
        "<a href='https://x.example/'>Shop</a>",
        "The link “Shop” on your home page now leads to “https://x.example/”.",
    ),
    ("<p>x</p>", "<p>x</p><p><a href='b'>Shop</a></p>", "There is a new link on your home page: “Shop”."),
    ("<p class=a>x</p>", "<p class=b>x</p>", UNSEEN),
    ("<script>a</script>", "<script>b</script>", UNSEEN),
    ("<p hidden>a</p><p>x", "<p hidden>b</p><p>x", UNSEEN),
    ("<!-- a --><p>x</p>", "<!-- b > c --><p>x</p>", UNSEEN),
    (
        "<p hidden>a<p>x",
        "<p hidden>a<p>y",
        "The text on your home page now says “y” instead of “x”.",
    ),
]


@pytest.mark.parametrize(("old", "new", "line"), PAGES, ids=[line[:60] for _, _, line in PAGES])
def test_a_page_is_told_by_what_people_see(old: str, new: str, line: str) -> None:
    assert home(old, new) == [line]


def test_the_picture_of_a_mail_is_called_as_its_sender_calls_it() -> None:
    """By its bytes, whatever the site calls it."""
    before = {"index.html": "<img src=images/old.jpg>", "images/old.jpg": "old"}
    after = {"index.html": "<img src='/images/image-1.jpg'>", "images/image-1.jpg": "new"}
    lines = told(before, after, {"images/image-1.jpg": "IMG_2031.JPG"})
    assert lines == ["The picture on your home page is now your IMG_2031.JPG."]


def test_a_picture_that_was_exchanged_under_its_name_is_told_too() -> None:
    """The page's own bytes are the same; what a visitor sees is not."""
    page = "<h1>Team</h1><img src=../photo.jpg>"
    before = {"index.html": "<p>x", "team/index.html": page, "photo.jpg": "old"}
    lines = told(before, {**before, "photo.jpg": "new"}, {"photo.jpg": "IMG_2031.JPG"})
    assert lines == ["The picture on the page “Team” is now your IMG_2031.JPG."]


def test_a_new_page_is_told_with_where_it_is_linked_and_not_as_a_change_of_the_menu() -> None:
    menu = "<nav><ul><li><a href=/>Home</a><li><a href=hours.html>Opening hours</a></ul></nav>"
    before = {"index.html": "<nav><ul><li><a href=/>Home</a></ul></nav><p>x"}
    after = {"index.html": f"{menu}<p>x", "hours.html": "<h1>Opening hours</h1>"}
    assert told(before, after) == ["There is a new page, “Opening hours”, linked from your home page."]
    in_one_line = {"index.html": "<nav><a href=/>Home</a></nav><p>x"}
    menu = "<nav><a href=/>Home</a> <a href=hours.html>Opening hours</a></nav>"
    assert told(in_one_line, {**after, "index.html": f"{menu}<p>x"}) == told(before, after)


def test_a_page_that_is_gone_is_told_by_its_name() -> None:
    before = {"index.html": "<p>x", "team.html": "<title>The team</title>"}
    assert told(before, {"index.html": "<p>x"}) == ["The page “The team” is gone."]


def test_the_same_change_on_all_pages_is_told_once() -> None:
    """A new telephone number in the footer of 200 pages is one change."""
    before = {f"page{number}.html": f"<h1>Page {number}</h1><footer>Call 1</footer>" for number in range(200)}
    after = {path: text.replace("Call 1", "Call 2") for path, text in before.items()}
    assert told(before, after) == ["The text on all 200 pages now says “Call 2” instead of “Call 1”."]
    after["page7.html"] = before["page7.html"]
    assert told(before, after) == ["The text on 199 pages now says “Call 2” instead of “Call 1”."]


def test_pages_beyond_the_bound_are_counted() -> None:
    before = {f"{number:04}.html": f"<p>{number}" for number in range(PAGES_COMPARED + 5)}
    lines = told(before, {path: f"{text}!" for path, text in before.items()})
    assert f"And {PAGES_COMPARED + 1 - CHANGES_NAMED} more changes." in lines
    assert len(pages_to_read(_release(_bytes(before)), _release({}))) == PAGES_COMPARED


def test_colours_are_told_where_nothing_else_can_be_said() -> None:
    before = {"index.html": "<p>x", "style.css": "p{}"}
    look = ["Colours, fonts or layout have changed."]
    assert told(before, {**before, "style.css": "p{color:blue}"}) == look
    assert told({**before, "a1.css": "p{}"}, {**before, "b2.css": "p{}"}) == []  # named by its content


def test_file_names_are_the_last_resort() -> None:
    before = {"index.html": "<p>x", "menu.pdf": "old", "feed.xml": "1"}
    after = {"index.html": "<p>x", "menu.pdf": "new", "feed.xml": "2"}
    assert told(before, after) == ["Other files of the site have changed: menu.pdf."]


def test_the_same_is_no_difference() -> None:
    assert told({"index.html": "<p>x"}, {"index.html": "<p>x"}) == []


def test_of_a_long_text_only_the_difference_is_shown() -> None:
    start, end = (
        "A long beginning that nobody wants to read twice, then bread",
        "and a long end of it all, too.",
    )
    (line,) = home(f"<p>{start} at six {end}</p>", f"<p>{start} at seven {end}</p>")
    before, after = (f"“…twice, then bread at {hour} and a long end of it…”" for hour in ("six", "seven"))
    assert line == f"The text on your home page now says {after} instead of {before}."


def test_texts_that_have_nothing_in_common_came_and_went() -> None:
    one, other = "We bake bread every morning. " * 5, "0123 456 789 012 345 678. " * 5
    assert [line.split(":")[0] for line in home(f"<p>{one}</p>", f"<p>{other}</p>")] == [
        "This is no longer on your home page",
        "There is new text on your home page",
    ]


def test_what_could_break_a_line_or_turn_its_direction_is_left_out() -> None:
    (line,) = home("<p>a</p>", "<p>b\u202e\u2028&#10;c\x00</p>")
    assert line == "The text on your home page now says “b c” instead of “a”."


HOSTILE = [
    "<!--",
    "<a b='",
    '<a b="',
    "<p>",
    "<div hidden>",
    "</",
    "<title>",
    "<script>",
    "<a href=x>",
    "&#",
    "<",
    "<p>a<p>b",
    "<h1>a",
    "<img src=a>",
]


@pytest.mark.parametrize("piece", HOSTILE)
async def test_hostile_pages_take_no_time(piece: str) -> None:
    """The standard library's parser takes half a minute for one of these."""
    page = piece * (390_000 // len(piece))
    async with asyncio.timeout(HANG_SECONDS):
        lines = await asyncio.to_thread(home, page, page[len(piece) :] + "x")
        lines += await asyncio.to_thread(home, "", page)
    assert len(lines) <= 2 * (CHANGES_NAMED + 2)
    assert all(len(line) < 400 for line in lines)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=200), st.sampled_from(["index.html", "a.html", "a.jpg"]))
def test_any_bytes_can_be_told(old: bytes, new: bytes, path: str) -> None:
    lines = told({path: old}, {path: new})
    assert bool(lines) == (old != new)
    seen = [
        line.replace("\u200c", "").replace("\u200d", "") for line in lines
    ]  # what joins Persian letters stays
    assert all(line.isprintable() and len(line) < 400 for line in seen)
