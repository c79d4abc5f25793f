"""When the demo agent says no: it says why, says what it can do, and changes nothing."""

from __future__ import annotations

import asyncio
import os
import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.agents.demo_room import asked, contents, errand, room_in
from tests.waiting import HANG_SECONDS
from webordinary.agents.demo import DemoAgent
from webordinary.core.failure import DemoObstacle, FailureKind
from webordinary.core.work import Declined, Worked

NO = [
    ("Add a paragraph 'x' to the contact page", "there is no page called “contact page”"),
    ("On the contact page, add the attached photo", "there is no page called “contact page”"),
    ("Add a paragraph saying We love bread to the contact page", "can't tell where the new text ends"),
    ("Change the title to Welcome to our home page", "can't tell where the new text ends"),
    ("Change the title to About us and add a paragraph 'New' to the about page", "I don't understand"),
    ("Change the title to About us and remove the photo", "can't tell where the new text ends"),
    ("Add a paragraph about our opening hours", "I don't understand"),
    ("Add a paragraph 'x' to the about section", "I don't understand"),
    ("change the link 'Shop' to https://example.org/", "I don't understand"),
    ("change the phone number to soon", "“soon” is no phone number"),
    ("change the e-mail address to a@example.org", "I found no e-mail address"),
    ("change the heading 'Our daily bread & buns' to 'Cake'", "are not formatted alike"),
    ("make it pop", "I don't understand “make it pop”"),
    ("", "I found no request in your mail"),
    ("Hi Sam,\n\nThanks!", "I found no request in your mail"),
    (
        "replace 'Rye 4 euro' with 'Rye 5 euro'",
        "there is more than one place that says “Rye 4 euro”: 2. Say which page you mean",
    ),
    ("replace 'nowhere' with 'here'", "I found no place that says “nowhere”"),
    ("change the heading 'Nothing' to 'Something'", "I found no heading “Nothing”"),
    ("change the title of the contact page to X", "there is no page called “contact page”"),
    (
        "remove the paragraph that starts with 'We'",
        "there is more than one paragraph that starts with “We”: 3",
    ),
    ("add a paragraph 'x' after the heading 'Nothing'", "I found no heading “Nothing”"),
    ("replace the hero photo with the attached one", "there is no picture attached to your mail"),
    ("change 'Monday and Tuesday' to 'Saturday or Sunday'", "are not formatted alike"),
    ("change the heading 'Shop' to 'Shop'", "already says that"),
    ("change the opening hours to 9-5", "I don't understand"),
    ("change the title to " + "x" * 301, "the new title is longer than 300 characters"),
    ("x" * 9000, "your mail is too long for me"),
    ("change the heading 'Team' to 'A'. And do a little dance", "I don't understand"),
    ("change the heading 'Team' to 'A'. Remove the paragraph that starts with 'q'", "I found no paragraph"),
]


@pytest.mark.parametrize(("instruction", "why"), NO, ids=[why[:40] for _, why in NO])
async def test_a_no_says_why_and_changes_nothing(tmp_path: Path, instruction: str, why: str) -> None:
    room = room_in(tmp_path)
    before = contents(room)
    result = await asked(room, instruction)
    assert isinstance(result, Declined), result
    assert result.kind is FailureKind.DEMO
    assert why in result.reason
    assert result.details is not None
    assert result.details.demo in set(DemoObstacle)
    assert contents(room) == before


async def test_it_does_not_merge(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    run = await DemoAgent().start(errand("change the title to X", conflicts=("index.html",)), room)
    result = await run.result()
    assert isinstance(result, Declined)
    assert "somebody else changed the same lines of index.html" in result.reason


async def test_links_out_of_the_tree_are_neither_read_nor_written(tmp_path: Path) -> None:
    """The agent runs with the worker's rights, and the tree is whatever somebody pushed."""
    room = room_in(tmp_path, {"index.html": "<p>inside</p>"})
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret.html").write_text("<p>secret</p>")
    (room.tree / "linked.html").symlink_to(outside / "secret.html")
    (room.tree / "folder").symlink_to(outside)
    assert isinstance(await asked(room, "replace 'secret' with 'public' everywhere"), Declined)
    assert (outside / "secret.html").read_text() == "<p>secret</p>"


async def test_a_pipe_in_the_tree_keeps_nobody_waiting(tmp_path: Path) -> None:
    room = room_in(tmp_path)
    os.mkfifo(room.tree / "pipe.html")
    assert isinstance(await asked(room, "Change the title to X"), Worked)


@pytest.mark.parametrize(
    "hostile",
    [
        "<div>" * 60_000,
        "<b><p>" * 4_000,
        "<p>" * 9_999,
        "<!--" * 60_000,
        "<a b='" * 9_000,
        "x" * 300_000,
        "<" * 99_999,
    ],
    ids=lambda text: text[:8],
)
async def test_a_hostile_page_is_left_out(tmp_path: Path, hostile: str) -> None:
    room = room_in(tmp_path, {"bad.html": hostile, "index.html": "<title>A</title>"})
    async with asyncio.timeout(HANG_SECONDS):
        assert isinstance(await asked(room, "Change the title to X"), Worked)
    assert contents(room)["bad.html"] == hostile.encode()


async def test_hidden_folders_and_foreign_code_are_left_alone(tmp_path: Path) -> None:
    pages: dict[str, str | bytes] = dict.fromkeys(
        ("index.html", ".well/x.html", "node_modules/a/x.html"), "<p>word</p>"
    )
    room = room_in(tmp_path, pages)
    assert isinstance(await asked(room, "replace 'word' with 'term' everywhere"), Worked)
    changed = [path for path, content in contents(room).items() if b"term" in content]
    assert changed == ["index.html"]


PIECES = """<p> </p> <b> </b> <!--two--> <h2> </h2> <table><tr><td> </table> <br/> &amp; &eacute one two three
é <a/href=x> </a> <script>two</script> <li> <svg><title>two</title></svg> <i </ &#50; <textarea>two</textarea>
<P/CLASS='a>b'> <select><option>two </select> <pre> &lt; "two" unique words"""
MARKUP = st.lists(st.sampled_from([*PIECES.split(), " ", "\r\n", "  "]), max_size=30).map("".join)
INSTRUCTIONS = st.one_of(
    st.sampled_from([instruction for instruction, _ in NO]),
    st.text(max_size=60).map(lambda text: f"change the heading {text} to {text}"),
    st.text(max_size=60).map(lambda text: f"replace '{text}' with \"{text}\" everywhere"),
    st.text(max_size=60).map(lambda text: f"Add a paragraph {text} after the heading {text}"),
    st.text(max_size=100),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(page=MARKUP, instruction=INSTRUCTIONS)
def test_a_refused_mail_changes_no_byte(
    tmp_path_factory: pytest.TempPathFactory, page: str, instruction: str
) -> None:
    room = room_in(tmp_path_factory.mktemp("room"), {"index.html": page})
    result = asyncio.run(asked(room, instruction))
    assert isinstance(result, Declined | Worked)
    if isinstance(result, Declined):
        assert contents(room) == {"index.html": page.encode()}


@settings(max_examples=120, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    before=MARKUP,
    after=MARKUP,
    new=st.sampled_from(["zwei", "<b>2</b>", "a & b", "“2”", "\U0001f956", "$1 \\1"]),
)
def test_a_replacement_changes_only_its_place(
    tmp_path_factory: pytest.TempPathFactory, before: str, after: str, new: str
) -> None:
    """Whatever the page is made of: either nothing changes, or the one word does."""
    page = f"{before}<p>special words here</p>{after}"
    room = room_in(tmp_path_factory.mktemp("room"), {"index.html": page})
    result = asyncio.run(asked(room, f"replace 'special words' with '{new}'"))
    now = contents(room)["index.html"].decode()
    escaped = re.sub("[&<>]", lambda found: {"&": "&amp;", "<": "&lt;", ">": "&gt;"}[found[0]], new)
    assert now == (page.replace("special words", escaped) if isinstance(result, Worked) else page)
