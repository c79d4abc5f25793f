"""What the demo agent does to pages: the one place that is meant, and not a byte more."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.agents.demo_room import INDEX, asked, contents, difference, room_in
from webordinary.agents.demo.requests import EXAMPLES, RequestKind, understood
from webordinary.core.work import Declined, Worked

TABLE = [
    (
        "Change the homepage title to Spring Sale",
        [
            "index.html - <title>Good bread</title>",
            "index.html + <title>Spring Sale</title>",
            "index.html - <h1>Good bread</h1>",
            "index.html + <h1>Spring Sale</h1>",
        ],
    ),
    (
        "Hi!\n\nCould you please change the title of the about page to “Who we are”? Thanks,\nSam",
        [
            "about.html - <html><head><title>About | Good bread</title></head><body>",
            "about.html + <html><head><title>Who we are</title></head><body>",
            "about.html - <H1>About</H1>",
            "about.html + <H1>Who we are</H1>",
        ],
    ),
    (
        "rename the heading 'team' to 'The bakers'",
        ["about.html - <h2>Team</h2>", "about.html + <h2>The bakers</h2>"],
    ),
    (
        'Change the heading "our daily bread & buns" to "Our weekly bread & buns"',
        [
            "index.html - <h2>Our <em>daily</em> bread &amp; buns</h2>",
            "index.html + <h2>Our <em>weekly</em> bread &amp; buns</h2>",
        ],
    ),
    (
        "change the main heading to Fresh bread",
        ["index.html - <h1>Good bread</h1>", "index.html + <h1>Fresh bread</h1>"],
    ),
    (
        "On the about page, change the main heading to 'Us'.",
        ["about.html - <H1>About</H1>", "about.html + <H1>Us</H1>"],
    ),
    (
        'Replace "come at seven" with "Come at eight"',
        ["index.html - Come at seven.</p>", "index.html + Come at eight.</p>"],
    ),
    (
        "change 'We bake \"early\"' to 'We bake late'",
        [
            'index.html - <p class="x">We bake &ldquo;early&rdquo;.',
            'index.html + <p class="x">We bake late.',
        ],
    ),
    (
        'Replace "Rye 4 euro" with "Rye 5 euro" everywhere',
        [
            "index.html - <ul><li>Rye 4 euro</li></ul>",
            "index.html + <ul><li>Rye 5 euro</li></ul>",
            "shop.html - <title>Shop</title><h1>Shop</h1><p>Rye 4 euro</p>",
            "shop.html + <title>Shop</title><h1>Shop</h1><p>Rye 5 euro</p>",
        ],
    ),
    (
        'Replace "Rye 4 euro" with "Rye 5 euro" on the shop page',
        [
            "shop.html - <title>Shop</title><h1>Shop</h1><p>Rye 4 euro</p>",
            "shop.html + <title>Shop</title><h1>Shop</h1><p>Rye 5 euro</p>",
        ],
    ),
    (
        'Change "Monday and Tuesday" to "Sunday and Tuesday"',
        [
            "index.html - <p>Open on <strong>Monday</strong> and Tuesday.</p>",
            "index.html + <p>Open on <strong>Sunday</strong> and Tuesday.</p>",
        ],
    ),
    (
        "Add a paragraph 'Two < three & more' after the heading 'Team'",
        ["about.html + <p>Two &lt; three &amp; more</p>"],
    ),
    (
        'Add a paragraph before the heading "Team" saying We love bread.',
        ["about.html + <p>We love bread.</p>"],
    ),
    (
        "Add a paragraph to the about page saying We love bread, and more.",
        ["about.html + <p>We love bread, and more.</p>"],
    ),
    (
        "I'd like to rename 'Team' to 'Us'. Thank you! Best, Sam",
        ["about.html - <h2>Team</h2>", "about.html + <h2>Us</h2>"],
    ),
    ('Add a heading "News" to the about page', ["about.html + <h2>News</h2>"]),
    ("Add 'Bring a bag.' below the paragraph 'Open on'", ["index.html + <p>Bring a bag.</p>"]),
    (
        "change the phone number to 555 0199",
        [
            "shop.html - <p>Call <a href='tel:5550100'>555 0100</a>.</p>",
            "shop.html + <p>Call <a href='tel:5550199'>555 0199</a>.</p>",
        ],
    ),
    (
        "Please remove 'and Tuesday'",
        [
            "index.html - <p>Open on <strong>Monday</strong> and Tuesday.</p>",
            "index.html + <p>Open on <strong>Monday</strong>.</p>",
        ],
    ),
    (
        'Remove "See you soon"',
        ["index.html - <footer><p>See you soon</p></footer>", "index.html + <footer></footer>"],
    ),
    ('delete the heading "team"', ["about.html - <h2>Team</h2>"]),
    ("add a paragraph saying We are closed in May.", ["index.html + <p>We are closed in May.</p>"]),
    (
        "Remove the paragraph that starts with 'We are two'",
        ["about.html - <P>We are two bakers."],
    ),
    (
        'remove the paragraph "We bake “early”"',
        ['index.html - <p class="x">We bake &ldquo;early&rdquo;.', "index.html - Come at seven.</p>"],
    ),
]


@pytest.mark.parametrize(("instruction", "lines"), TABLE, ids=[instruction[:40] for instruction, _ in TABLE])
async def test_exactly_the_lines_that_are_meant_change(
    tmp_path: Path, instruction: str, lines: list[str]
) -> None:
    room = room_in(tmp_path)
    before = contents(room)
    result = await asked(room, instruction)
    assert isinstance(result, Worked), result
    assert sorted(difference(before, contents(room))) == sorted(lines)


async def test_several_requests_of_one_mail_are_all_carried_out(tmp_path: Path) -> None:
    """The second one is about what the first one wrote."""
    room = room_in(tmp_path)
    result = await asked(
        room,
        "Hello,\n\n- change the heading 'Team' to\n'The bakers'\n"
        "- Add a paragraph 'Ana and Bo.' after the heading 'The bakers'.\n"
        "Then replace 'See you soon' with 'Bye' and change the main heading to 'Bread'.\n\n"
        "Best regards\nSam Smith",
    )
    assert isinstance(result, Worked)
    assert result.summary.split("\n") == [
        "about.html: the heading “Team” is now “The bakers”",
        "about.html: added the paragraph “Ana and Bo.” after “The bakers”",
        "index.html: “See you soon” is now “Bye”",
        "index.html: the heading “Good bread” is now “Bread”",
    ]


async def test_the_summary_says_when_the_heading_is_not_what_the_title_was(tmp_path: Path) -> None:
    room = room_in(tmp_path, {"index.html": "<title>One</title><h1>Two</h1>"})
    result = await asked(room, "Change the title to Three")
    assert isinstance(result, Worked)
    assert result.summary == (
        "index.html: the title is now “Three” (it was “One”); the main heading still says “Two”"
    )
    assert contents(room) == {"index.html": b"<title>Three</title><h1>Two</h1>"}


async def test_line_ends_and_a_byte_order_mark_are_kept(tmp_path: Path) -> None:
    page = b"\xef\xbb\xbf" + INDEX.replace("\n", "\r\n").encode()
    room = room_in(tmp_path, {"index.html": page})
    assert isinstance(
        await asked(room, 'Replace "Come at seven" with "Komm um 7 Uhr, Gr\u00fc\u00dfe \U0001f956"'), Worked
    )
    assert isinstance(await asked(room, 'Add a paragraph "New" after the heading "Good bread"'), Worked)
    expected = page.replace(
        b"      Come at seven.", "      Komm um 7 Uhr, Gr\u00fc\u00dfe \U0001f956.".encode()
    )
    expected = expected.replace(b"<h1>Good bread</h1>\r\n", b"<h1>Good bread</h1>\r\n    <p>New</p>\r\n")
    assert contents(room)["index.html"] == expected


async def test_a_page_that_is_not_utf_8_is_left_alone(tmp_path: Path) -> None:
    """Words in another encoding than the page's own would be read as something else."""
    page = "<meta charset=iso-8859-1><title>Caf\u00e9</title><p>d\u00e9j\u00e0 vu</p>".encode("latin-1")
    room = room_in(tmp_path, {"index.html": "<p>x</p>", "old.html": page})
    assert isinstance(await asked(room, "replace 'd\u00e9j\u00e0 vu' with 'na\u00efve'"), Declined)
    assert contents(room)["old.html"] == page


async def test_a_file_keeps_its_mode(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    (room.tree / "shop.html").chmod(0o640)
    assert isinstance(await asked(room, "Change the heading 'Shop' to 'Store'"), Worked)
    assert (room.tree / "shop.html").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    "name", ["about page", "About us page", "about.html"], ids=["by its file", "by a link", "by its path"]
)
async def test_a_page_is_found_by_what_people_call_it(tmp_path: Path, name: str) -> None:
    room = room_in(tmp_path)
    assert isinstance(await asked(room, f"Change the main heading of the {name} to 'Us'"), Worked)
    assert b"<H1>Us</H1>" in contents(room)["about.html"]


async def test_a_page_in_a_folder_is_called_by_the_folder(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = {"index.html": "<h1>x</h1>", "about/index.html": "<h1>A</h1>"}
    room = room_in(tmp_path, pages)
    assert isinstance(await asked(room, "On the about page, change the heading to B"), Worked)
    assert contents(room) == {"index.html": b"<h1>x</h1>", "about/index.html": b"<h1>B</h1>"}


async def test_what_is_in_scripts_comments_and_attributes_is_no_text(tmp_path: Path) -> None:
    room = room_in(
        tmp_path, {"index.html": "<p title='word'>a</p><!-- word --><style>word{}</style><p>word</p>"}
    )
    result = await asked(room, "replace 'word' with 'term'")
    assert isinstance(result, Worked)
    assert contents(room)["index.html"].endswith(b"<p>term</p>")
    assert contents(room)["index.html"].count(b"word") == 3


async def test_a_part_of_a_word_is_not_the_word(tmp_path: Path) -> None:
    room = room_in(tmp_path, {"index.html": "<p>A party of art lovers</p>"})
    assert isinstance(await asked(room, "replace 'art' with 'jazz'"), Worked)
    assert contents(room)["index.html"] == b"<p>A party of jazz lovers</p>"
    assert isinstance(await asked(room, "replace 'part' with 'whole'"), Declined)


async def test_every_sentence_that_a_refusal_lists_is_understood() -> None:
    """An example that does not work is worse than none."""
    assert {understood(example)[0].kind for example in EXAMPLES} == set(RequestKind)


async def test_a_phone_number_is_changed_wherever_it_is_called(tmp_path: Path) -> None:
    """A link that goes on dialling the old number is half of what was asked."""
    pages: dict[str, str | bytes] = {
        "index.html": "<p>Call 555 0100</p><p><a href='mailto:a@example.org?subject=x'>a@example.org</a></p>",
        "shop.html": "<p><a href='tel:5550100'>Call us</a></p>",
    }
    room = room_in(tmp_path, pages)
    assert isinstance(await asked(room, "Change the phone number to +1 555 0199"), Worked)
    assert isinstance(await asked(room, "Change the e-mail address to b@example.org"), Worked)
    assert contents(room) == {
        "index.html": b"<p>Call +1 555 0199</p>"
        b"<p><a href='mailto:b@example.org?subject=x'>b@example.org</a></p>",
        "shop.html": b"<p><a href='tel:+15550199'>Call us</a></p>",
    }
