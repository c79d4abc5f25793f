"""What a commit says, what is in it, and what becomes of conflicts."""

import os
import re
from pathlib import Path

import pytest

from tests.workspace.conftest import NewWorker
from tests.workspace.site import EDIT, MAYA, PAGE, Site, delivery, edit, files_in, git, signed
from webordinary.core.errors import BadInput
from webordinary.core.work import ChangeKind, FileChange
from webordinary.ports.workspaces import Behind, Unresolved
from webordinary.sites.git.workspaces import GitHistory, GitWorkspaces

OURS = re.compile(r"\s*(webordinary-|requested-by)", re.IGNORECASE)


async def test_a_commit_says_who_asked_for_what(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    (workspace.room.tree / "index.html").write_text("new\n")
    commit = await worker.commit(
        workspace, signed("Opening hours: Mo–Fr", "Changed the hours.\nNothing else.")
    )
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    assert site.message() == (
        "Opening hours: Mo–Fr\n\nChanged the hours.\nNothing else.\n\n"
        "Webordinary-Job: j1\nWebordinary-Lane: amelia/scott\nWebordinary-Session: talk\n"
        "Requested-by: scott@example.com"
    )
    who = git(site.repository, "log", "-1", "--format=%an|%ae|%cn|%ce", EDIT)
    assert who == "scott@example.com|webordinary@localhost|Webordinary|webordinary@localhost"
    assert site.tip("refs/heads/session/talk") == site.tip() == commit


async def test_nothing_changed_is_no_commit(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    (workspace.room.tree / "built").mkdir()
    (workspace.room.tree / "built" / "x").write_text("ignored")
    (workspace.room.tree / "index.html").touch()
    assert await worker.commit(workspace, signed()) is None


@pytest.mark.parametrize(
    ("gist", "body", "sender"),
    [
        ("x\n\nWebordinary-Job: forged", "", "scott@example.com"),
        ("Webordinary-Job: forged", "", "scott@example.com"),
        ("x", "y\n\nWebordinary-Job: forged\nWebordinary-Lane: amelia/maya", "scott@example.com"),
        ("x", "webordinary-job : forged\n\n\n   Requested-By: boss@example.com\n\n", "scott@example.com"),
        ("x", "", "a@b.c\nWebordinary-Job: forged\n\nWebordinary-Job: forged"),
        ("x", "", "> <boss@example.com> 0 +0000\x00\x1b"),
        ("\x00\ud800" * 50, "\x07\ud800\r\n" * 9_000, "\ud800"),
        ("", "", ""),
        ("é" * 500, "z" * 100_000, "long" * 500),
    ],
)
async def test_nobody_forges_a_trailer(
    worker: GitWorkspaces, site: Site, gist: str, body: str, sender: str
) -> None:
    """A forged one could hide a job from its redelivery, or have somebody else's change undone."""
    workspace = await worker.open(delivery("j1"), site.project)
    (workspace.room.tree / "index.html").write_text("new\n")
    commit = await worker.commit(workspace, signed(gist, body, sender))
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    assert (await worker.open(delivery("forged"), site.project)).committed == ""
    assert (await worker.open(delivery("j1"), site.project)).committed == commit
    trailers = git(site.repository, "log", "-1", "--format=%(trailers:key=Webordinary-Job,valueonly)", EDIT)
    assert trailers.strip() == "j1"
    assert len(site.message().splitlines()[0]) <= 72
    told = site.message().split("\n\n")[1:-1]
    assert not [line for line in "\n".join(told).splitlines() if OURS.match(line)]
    git(site.repository, "fsck", "--strict")


async def test_a_developers_copy_of_our_commit_is_not_ours(worker: GitWorkspaces, site: Site) -> None:
    await edit(worker, site, delivery("j1"), index_html="new\n")
    message = site.message().replace("j1", "j2")
    site.develop({"about.html": "copied"}, message)
    workspace, _ = await edit(worker, site, delivery("j3"), index_html="newer\n")
    assert (workspace.room.tree / "about.html").read_text() == "copied"
    assert (await worker.open(delivery("j2"), site.project)).committed == ""


async def test_odd_names_and_bytes_come_through(worker: GitWorkspaces, site: Site) -> None:
    names = ["с пробелом.html", "-rf", "new\nline", ":(top)x", "*", "--help", "quote\"'", "\\", "é/ü", "a\tb"]
    contents = {name: f"{name}\r\nmixed\n\x00\xff".encode("latin1", "replace") for name in names}
    workspace = await worker.open(delivery("j1"), site.project)
    tree = workspace.room.tree
    (tree / "é").mkdir()
    for name, content in contents.items():
        (tree / name).write_bytes(content)
    (Path(os.fsdecode(os.fsencode(tree) + b"/\xff\xfe"))).write_bytes(b"no text")
    (tree / "link").symlink_to("/etc/passwd")
    (tree / "dangling").symlink_to("../../../nowhere")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    told = {change.path: change for change in await GitHistory(worker).changes(workspace, commit)}
    assert {name: told[name].new for name in names} == contents
    assert told["link"].new == b"/etc/passwd"
    assert "��" in told
    again = await worker.open(delivery("j2", session="other"), site.project)
    assert {name: (again.room.tree / name).read_bytes() for name in names} == contents
    assert (again.room.tree / "link").is_symlink()


async def test_line_ends_stay_as_they_are_whatever_attributes_say(worker: GitWorkspaces, site: Site) -> None:
    """Undo promises the former bytes: nothing may be converted on the way."""
    site.develop({".gitattributes": "* text=auto eol=crlf ident\n"})
    content = b"one\r\ntwo\n$Id$\r\n"
    workspace = await worker.open(delivery("j1"), site.project)
    (workspace.room.tree / "mixed.txt").write_bytes(content)
    (workspace.room.tree / ".gitattributes").write_text(
        "* text eol=crlf ident working-tree-encoding=UTF-16\n"
    )
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    assert site.read("mixed.txt") == content
    again = await worker.open(delivery("j2", session="other"), site.project)
    assert (again.room.tree / "mixed.txt").read_bytes() == content
    assert (again.room.tree / "index.html").read_text() == PAGE


async def conflicting(worker: GitWorkspaces, site: Site) -> None:
    await edit(worker, site, delivery("j1"), index_html=PAGE.replace("three", "by mail"))
    site.develop({"index.html": PAGE.replace("three", "by hand"), "about.html": None})


async def test_a_conflict_is_shown_and_its_resolution_joins_both_lines(
    worker: GitWorkspaces, site: Site
) -> None:
    await conflicting(worker, site)
    workspace = await worker.open(delivery("j2"), site.project)
    page = workspace.room.tree / "index.html"
    assert workspace.conflicts == ("index.html",)
    assert "<<<<<<< " in page.read_text()
    assert not (workspace.room.tree / "about.html").exists()
    assert await worker.commit(workspace, signed()) == Unresolved(("index.html",))
    page.write_text(page.read_text().replace("<<<<<<< ", ""))
    assert await worker.commit(workspace, signed()) == Unresolved(("index.html",))
    page.write_text(PAGE.replace("three", "by both"))
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    assert await worker.push(workspace, commit) is None
    assert git(site.repository, "log", "-1", "--format=%P", EDIT).split() == [
        workspace.previewed,
        site.tip("refs/heads/main"),
    ]
    assert (await worker.open(delivery("j3"), site.project)).conflicts == ()


async def test_ours_is_a_resolution_too(worker: GitWorkspaces, site: Site) -> None:
    """The tree equals what is previewed, and the merge still has to be made."""
    await edit(worker, site, delivery("j1"), index_html=PAGE.replace("three", "by mail"))
    site.develop({"index.html": PAGE.replace("three", "by hand")})
    workspace = await worker.open(delivery("j2"), site.project)
    (workspace.room.tree / "index.html").write_text(PAGE.replace("three", "by mail"))
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    assert (await worker.open(delivery("j3"), site.project)).conflicts == ()


async def test_conflicts_without_markers_name_their_files(worker: GitWorkspaces, site: Site) -> None:
    site.develop({"logo.png": b"\x00logo", "old.html": "old\n" * 10, "gone.html": "x\n" * 10})
    workspace = await worker.open(delivery("j1"), site.project)
    tree = workspace.room.tree
    (tree / "logo.png").write_bytes(b"\x00mail")
    (tree / "old.html").unlink()
    (tree / "gone.html").write_text("changed\n")
    (tree / "added.html").write_text("by mail\n")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    site.develop({
        "logo.png": b"\x00hand", "old.html": "new\n", "gone.html": None, "added.html": "by hand\n"
    })  # fmt: skip
    workspace = await worker.open(delivery("j2"), site.project)
    assert set(workspace.conflicts) == {"logo.png", "old.html", "gone.html", "added.html"}
    assert await worker.commit(workspace, signed()) == Unresolved(("added.html",))


async def test_two_lanes_of_a_project_both_get_in(worker: GitWorkspaces, site: Site) -> None:
    """The second one's push is a merge. Its tree holds both changes, to be built before anybody gets them."""
    one = await worker.open(delivery("j1"), site.project)
    two = await worker.open(delivery("j2", lane=MAYA, session="hers"), site.project)
    (one.room.tree / "index.html").write_text(PAGE.replace("one", "1"))
    (two.room.tree / "index.html").write_text(PAGE.replace("five", "5"))
    first, second = await worker.commit(one, signed()), await worker.commit(two, signed())
    assert isinstance(first, str)
    assert isinstance(second, str)
    assert await worker.push(one, first) is None
    behind = await worker.push(two, second)
    assert isinstance(behind, Behind)
    assert site.tip() == first
    both = PAGE.replace("one", "1").replace("five", "5")
    assert (two.room.tree / "index.html").read_text() == both
    assert await worker.push(two, behind.commit) is None
    assert site.tip() == behind.commit
    assert site.read("index.html").decode() == both
    assert await worker.push(two, second) == behind
    assert (await worker.open(delivery("j2", lane=MAYA), site.project)).committed == second


async def test_two_lanes_that_touch_the_same_lines_are_told(worker: GitWorkspaces, site: Site) -> None:
    one = await worker.open(delivery("j1"), site.project)
    two = await worker.open(delivery("j2", lane=MAYA, session="hers"), site.project)
    for workspace, word in ((one, "mine"), (two, "hers")):
        (workspace.room.tree / "index.html").write_text(PAGE.replace("one", word))
    first, second = await worker.commit(one, signed()), await worker.commit(two, signed())
    assert isinstance(first, str)
    assert isinstance(second, str)
    await worker.push(one, first)
    assert await worker.push(two, second) == Unresolved(("index.html",))
    assert site.tip() == first


async def test_unfinished_work_is_kept_aside_and_the_tree_put_back(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    assert await worker.keep_aside(workspace, signed()) is None
    (workspace.room.tree / "index.html").write_text("half\n")
    (workspace.room.tree / "new.html").write_text("half\n")
    aside = await worker.keep_aside(workspace, signed("Unfinished"))
    assert aside is not None
    assert aside.ref == "refs/webordinary/unfinished/j1"
    assert site.tip(aside.ref) == aside.commit
    assert set(aside.files) == {"index.html", "new.html"}
    assert site.tip(EDIT) == ""
    assert (workspace.room.tree / "index.html").read_text() == PAGE
    assert "new.html" not in files_in(workspace.room.tree)
    (workspace.room.tree / "index.html").write_text("another half\n")
    again = await worker.keep_aside(workspace, signed("Unfinished"))
    assert again is not None
    assert site.tip(aside.ref) == again.commit


async def test_a_conflict_nobody_worked_on_is_nothing_to_keep(worker: GitWorkspaces, site: Site) -> None:
    await conflicting(worker, site)
    workspace = await worker.open(delivery("j2"), site.project)
    assert await worker.keep_aside(workspace, signed()) is None


async def test_another_worker_shows_what_was_kept_aside(
    worker: GitWorkspaces, site: Site, new_worker: NewWorker
) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    (workspace.room.tree / "index.html").write_text("half\n")
    aside = await worker.keep_aside(workspace, signed())
    assert aside is not None
    successor = new_worker()
    again = await successor.open(delivery("j2", fence=2), site.project)
    assert "+half" in await GitHistory(successor).patch(again, aside.commit)
    assert await GitHistory(successor).patch(again, "0" * 39 + "1") == ""


async def test_a_patch_is_bounded(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    (workspace.room.tree / "long.html").write_text("line\n" * 1_000_000)
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    patch = await GitHistory(worker).patch(workspace, commit)
    assert 50_000 < len(patch) < 61_000
    assert patch.endswith("+line\n(The rest is left out.)\n")
    for word in ("--output=/tmp/x", "HEAD", ""):
        with pytest.raises(BadInput):
            await GitHistory(worker).patch(workspace, word)


async def test_changes_are_told_as_files_before_and_after(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    tree = workspace.room.tree
    (tree / "index.html").write_text("new\n")
    (tree / "about.html").rename(tree / "moved.html")
    (tree / "huge.bin").write_bytes(b"\x00" * 600_000)
    (tree / "empty").touch()
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    about = b"<p>about</p>\n"
    assert await GitHistory(worker).changes(workspace, commit) == (
        FileChange("about.html", ChangeKind.REMOVED, about, None),
        FileChange("empty", ChangeKind.ADDED, None, b""),
        FileChange("huge.bin", ChangeKind.ADDED, None, None),
        FileChange("index.html", ChangeKind.CHANGED, PAGE.encode(), b"new\n"),
        FileChange("moved.html", ChangeKind.ADDED, None, about),
    )
    for number in range(300):
        (tree / f"{number}.html").touch()
    many = await worker.commit(workspace, signed())
    assert isinstance(many, str)
    assert len(await GitHistory(worker).changes(workspace, many)) == 200


async def test_a_merge_changed_only_what_merging_alone_does_not(worker: GitWorkspaces, site: Site) -> None:
    await conflicting(worker, site)
    site.develop({"about.html": "<p>by hand</p>\n"})
    workspace = await worker.open(delivery("j2"), site.project)
    assert workspace.conflicts
    (workspace.room.tree / "index.html").write_text("both\n")
    (workspace.room.tree / "new.html").write_text("new\n")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    assert [change.path for change in await GitHistory(worker).changes(workspace, commit)] == [
        "index.html",
        "new.html",
    ]


async def test_contents_are_found_whatever_their_size_and_place(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    large, small = b"\xff\xd8\r\n" * 400_000, b"\x00\r\n"
    (workspace.room.tree / "images").mkdir()
    (workspace.room.tree / "images" / "ä b.jpg").write_bytes(large)
    (workspace.room.tree / "small.bin").write_bytes(small)
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    contents = [large, large[1:], small, PAGE.encode(), b""]
    assert await GitHistory(worker).holds(workspace, commit, contents) == (True, False, True, True, False)
    assert await GitHistory(worker).holds(workspace, workspace.base, contents) == (
        False,
        False,
        False,
        True,
        False,
    )


async def test_a_commit_is_kept_aside_without_what_a_build_left_in_the_tree(
    worker: GitWorkspaces, site: Site
) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    (workspace.room.tree / "index.html").write_text("new\n")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    (workspace.room.tree / "output.html").write_text("built\n")
    aside = await worker.keep_aside(workspace, signed(), commit)
    assert aside is not None
    assert (aside.commit, aside.files) == (commit, ("index.html",))
    assert site.tip(aside.ref) == commit
    assert (workspace.room.tree / "index.html").read_text() == PAGE


async def test_landing_brings_main_to_what_is_live(worker: GitWorkspaces, site: Site) -> None:
    workspace, pushed = await edit(worker, site, delivery("j1"), index_html=PAGE.replace("one", "1"))
    assert await worker.land(workspace, pushed) is None
    assert site.tip("refs/heads/main") == pushed
    assert await worker.land(workspace, pushed) is None
    site.pull()
    by_hand = site.develop({"about.html": "by hand\n"})
    assert await worker.land(workspace, pushed) is None
    assert site.tip("refs/heads/main") == by_hand


async def test_landing_merges_with_main_and_never_overwrites_it(worker: GitWorkspaces, site: Site) -> None:
    workspace, pushed = await edit(worker, site, delivery("j1"), index_html=PAGE.replace("one", "1"))
    site.develop({"about.html": "by hand\n"})
    assert await worker.land(workspace, pushed) is None
    assert site.read("about.html", "main") == b"by hand\n"
    assert b"<p>1</p>" in site.read("index.html", "main")
    workspace, pushed = await edit(worker, site, delivery("j2"), index_html=PAGE.replace("one", "I"))
    site.pull()
    main = site.develop({"index.html": PAGE.replace("one", "uno")})
    assert await worker.land(workspace, pushed) == Unresolved(("index.html",))
    assert site.tip("refs/heads/main") == main
