"""What changed, told so that a person who knows no HTML understands it."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from webordinary.core.work import ChangeKind, FileChange
from webordinary.work.changes import kept_in_words, told


def changed(old: str | bytes, new: str | bytes, path: str = "index.html") -> FileChange:
    before, after = (text if isinstance(text, bytes) else text.encode() for text in (old, new))
    return FileChange(path, ChangeKind.CHANGED, before, after)


PAGES = [
    ("<title>Old</title>", "<title>New</title>", ["title: “Old” → “New”"]),
    ("<h2>Our bread</h2>", "<h2>Fresh bread</h2>", ["“Our bread” → “Fresh bread”"]),
    ("<h2>Our <b>bread</b></h2>", "<h2>Our <i>buns</i></h2>", ["“Our bread” → “Our buns”"]),
    ("<p>a</p>", "<p>a</p><p>b &amp; c</p>", ["added “b & c”"]),
    ("<p>a<p>b<p>c", "<p>a<p>c", ["removed “b”"]),
    ("<p>a</p><p>b</p>", "<p>x</p><p>b</p><p>y</p>", ["“a” → “x”", "added “y”"]),
    ("<img src=a.jpg>", "<img src=images/b.jpg>", ["picture a.jpg → images/b.jpg"]),
    ("<img src=a.jpg alt=A>", "<img src=a.jpg alt=B>", ["description of a.jpg: “A” → “B”"]),
    ("<p>x</p>", "<p>x</p><img src=a.jpg>", ["picture a.jpg added"]),
    ("<img src=a.jpg>", "", ["picture a.jpg removed"]),
    ("<a href=a.html>Shop</a>", "<a href='b.html'>Shop</a>", ["link “Shop”: a.html → b.html"]),
    ("<p>Shop</p>", "<p><a href='b.html'>Shop</a></p>", ["link “Shop” to b.html added"]),
    ("<p class=a>x</p>", "<p class=b>x</p>", ["changed in places that are not seen"]),
    ("<script>a</script>", "<script>b</script>", ["changed in places that are not seen"]),
    ("<p hidden>a</p><p>x", "<p hidden>b</p><p>x", ["changed in places that are not seen"]),
    ("<p hidden>a<p>x", "<p hidden>a<p>y", ["“x” → “y”"]),
    ("<div style='display: none'><div>a</div>b</div>x", "<div style='display:none'>c</div>y", ["“x” → “y”"]),
    ("<!-- a --><p>x</p>", "<!-- b > c --><p>x</p>", ["changed in places that are not seen"]),
    ("<svg><title>a</title></svg>x", "<svg><title>b</title></svg>y", ["“x” → “y”"]),
]


@pytest.mark.parametrize(("old", "new", "lines"), PAGES, ids=[lines[0][:40] for _, _, lines in PAGES])
def test_a_page_is_told_by_what_people_see(old: str, new: str, lines: list[str]) -> None:
    assert told([changed(old, new)]) == [f"index.html: {line}" for line in lines]


def test_of_a_long_text_only_the_difference_is_shown() -> None:
    start, end = (
        "A long beginning that nobody wants to read twice, then bread",
        "and a long end of it all, too.",
    )
    lines = told([changed(f"<p>{start} at six {end}</p>", f"<p>{start} at seven {end}</p>")])
    before, after = (f"“…twice, then bread at {hour} and a long end of it…”" for hour in ("six", "seven"))
    assert lines == [f"index.html: {before} → {after}"]


def test_other_files_are_told_by_what_can_be_said_about_them() -> None:
    picture = b"\xff\xd8" * 21_000
    assert told(
        [
            FileChange("images/b.jpg", ChangeKind.ADDED, None, picture),
            FileChange("images/a.jpg", ChangeKind.REMOVED, b"x" * 10, None),
            FileChange("images/c.jpg", ChangeKind.CHANGED, b"x", picture),
            FileChange("huge.bin", ChangeKind.CHANGED, None, None),
            changed("a\nb\nc\nd", "a\nB\nC\nd\ne", "style.css"),
            changed("a\n", "a\r\n", "notes.txt"),
            FileChange("new.html", ChangeKind.ADDED, None, b"<p>x</p>"),
        ]
    ) == [
        "new.html: added (1 kB)",
        "images/b.jpg: added (42 kB)",
        "images/a.jpg: removed (1 kB)",
        "images/c.jpg: changed (42 kB)",
        "huge.bin: changed",
        "style.css: 3 lines changed",
        "notes.txt: changed in its line ends only",
    ]


def test_many_changes_are_counted() -> None:
    many = [changed(f"<p>{n}", f"<p>{n}!", f"{n}.html") for n in range(30)]
    lines = told(many)
    assert len(lines) == 20
    assert lines[-1] == "and 11 more changes"


def test_what_could_break_a_line_or_turn_its_direction_is_left_out() -> None:
    lines = told([changed("<p>a</p>", "<p>b\u202e\u2028&#10;c\x00</p>", "bad\nname\u202e.html")])
    assert lines == ["bad name .html: “a” → “b c”"]


def test_bytes_that_are_no_text_do_no_harm() -> None:
    assert told([changed(b"<p>caf\xe9</p>", b"<p>th\xe9</p>")]) == ["index.html: “caf\ufffd” → “th\ufffd”"]


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
]


@pytest.mark.parametrize("piece", HOSTILE)
async def test_hostile_pages_take_no_time(piece: str) -> None:
    """The standard library's parser takes half a minute for one of these."""
    page = piece * (390_000 // len(piece))
    async with asyncio.timeout(60):
        lines = await asyncio.to_thread(told, [changed(page, page[len(piece) :] + "x"), changed("", page)])
    assert len(lines) <= 20
    assert all(len(line) < 400 for line in lines)


@settings(max_examples=100, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=200), st.sampled_from(["a.html", "a.css", "a.jpg"]))
def test_any_bytes_can_be_told(old: bytes, new: bytes, path: str) -> None:
    lines = told([changed(old, new, path)])
    assert lines
    assert all(line.isprintable() and len(line) < 400 for line in lines)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], ""),
        (["index.html"], "changes to index.html"),
        (["a.html", "b.html"], "changes to a.html and b.html"),
        (["a.html", "b.html", "c.html"], "changes to a.html, b.html and c.html"),
        (["a.html", "b.html", "c.html", "d.html"], "changes to a.html, b.html, c.html and 1 more file"),
        (["a.html"] * 9, "changes to a.html, a.html, a.html and 6 more files"),
    ],
)
def test_unfinished_work_is_named(files: list[str], words: str) -> None:
    assert kept_in_words(files) == words
