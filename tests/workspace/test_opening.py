"""A tree for a conversation: cold, warm, and nothing of anybody else in it."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from tests.conformance.world import ManualClock
from tests.workspace.conftest import NewWorker
from tests.workspace.site import EDIT, MAYA, PAGE, SCOTT, Site, delivery, edit, files_in, git, signed
from webordinary.core.errors import BackendUnavailable, BadInput, NotFound
from webordinary.core.lane import Lane
from webordinary.core.site import Project
from webordinary.sites.git.workspaces import GitWorkspaces


async def test_a_cold_open_checks_the_main_line_out(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    assert files_in(workspace.room.tree) == {"index.html", "about.html", ".gitignore"}
    assert workspace.base == workspace.previewed == site.tip("refs/heads/main")
    assert workspace.conflicts == ()
    assert workspace.committed == ""
    assert site.tip(EDIT) == ""


async def test_a_tree_holds_no_git_directory(worker: GitWorkspaces, site: Site) -> None:
    """An agent that finds one could change what the worker's git does."""
    workspace = await worker.open(delivery("j1"), site.project)
    await worker.commit(workspace, signed())
    assert not list(workspace.room.tree.rglob(".git"))
    assert not (workspace.room.tree.parent / ".git").exists()


async def test_mail_and_home_are_empty_at_every_start(worker: GitWorkspaces, site: Site) -> None:
    first = await worker.open(delivery("j1"), site.project)
    (first.room.mail / "photo.jpg").write_bytes(b"x")
    (first.room.home / ".cache").mkdir()
    (first.room.home / ".cache" / "leak").write_text("x")
    second = await worker.open(delivery("j2"), site.project)
    assert second.room == first.room
    assert not files_in(second.room.mail)
    assert not list(second.room.home.iterdir())


async def test_a_warm_open_puts_back_all_but_ignored_files(worker: GitWorkspaces, site: Site) -> None:
    """What a cancelled job left must not reach the next one; a warm build may."""
    tree = (await worker.open(delivery("j1"), site.project)).room.tree
    (tree / "index.html").write_text("spoilt")
    (tree / "about.html").unlink()
    (tree / "new").mkdir()
    (tree / "new" / "page.html").write_text("left over")
    (tree / "built").mkdir()
    (tree / "built" / "cache").write_text("warm")
    await worker.open(delivery("j2"), site.project)
    assert (tree / "index.html").read_text() == PAGE
    assert files_in(tree) == {"index.html", "about.html", ".gitignore", "built/cache"}


async def test_a_change_of_the_same_size_within_the_same_second_is_put_back(
    worker: GitWorkspaces, site: Site
) -> None:
    """Git compares times and sizes first: a quick agent must not slip through."""
    for number in range(5):
        tree = (await worker.open(delivery(f"j{number}"), site.project)).room.tree
        assert (tree / "index.html").read_text() == PAGE
        (tree / "index.html").write_text(PAGE.replace("one", "two"))


async def test_a_tree_is_put_back_whatever_took_the_place_of_a_file(
    worker: GitWorkspaces, site: Site
) -> None:
    tree = (await worker.open(delivery("j1"), site.project)).room.tree
    (tree / "index.html").unlink()
    (tree / "index.html").mkdir()
    (tree / "index.html" / "built").mkdir()
    (tree / "index.html" / "built" / "x").write_text("ignored, and in the way")
    (tree / "about.html").unlink()
    (tree / "about.html").symlink_to("/etc/passwd")
    await worker.open(delivery("j2"), site.project)
    assert (tree / "index.html").read_text() == PAGE
    assert (tree / "about.html").read_text() == "<p>about</p>\n"
    assert not (tree / "about.html").is_symlink()


async def test_conversations_have_trees_of_their_own(worker: GitWorkspaces, site: Site) -> None:
    one = await worker.open(delivery("j1", session="one"), site.project)
    (one.room.tree / "index.html").write_text("unfinished")
    two = await worker.open(delivery("j2", session="two", lane=MAYA), site.project)
    none = await worker.open(delivery("j3", session=""), site.project)
    odd = await worker.open(delivery("j4", session="../../../etc"), site.project)
    rooms = [one.room, two.room, none.room, odd.room]
    assert len({room.tree for room in rooms}) == 4
    assert (two.room.tree / "index.html").read_text() == PAGE
    assert all(room.tree.is_relative_to(site.folder / "machine0" / "0" / "amelia") for room in rooms)


async def test_nothing_of_another_project_is_in_a_room(
    worker: GitWorkspaces, site: Site, clock: ManualClock
) -> None:
    other = Site(site.folder, clock, "zora")
    other.create({"secret.html": "zora's"})
    ours = await worker.open(delivery("j1"), site.project)
    theirs = await worker.open(delivery("j2", lane=Lane("zora", "scott")), other.project)
    assert "secret.html" not in files_in(ours.room.tree.parent)
    assert "index.html" not in files_in(theirs.room.tree.parent)
    with pytest.raises(BadInput):
        await worker.open(delivery("j3"), other.project)


async def test_what_developers_did_is_merged_in(worker: GitWorkspaces, site: Site) -> None:
    _, first = await edit(worker, site, delivery("j1"), index_html=PAGE.replace("one", "1"))
    main = site.develop({"about.html": "<p>by hand</p>\n"})
    workspace = await worker.open(delivery("j2"), site.project)
    assert workspace.previewed == first
    assert "by hand" in (workspace.room.tree / "about.html").read_text()
    assert "<p>1</p>" in (workspace.room.tree / "index.html").read_text()
    (workspace.room.tree / "index.html").write_text(PAGE.replace("one", "I"))
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    assert await worker.push(workspace, commit) is None
    for ancestor in (first, main):
        git(site.repository, "merge-base", "--is-ancestor", ancestor, EDIT)


async def test_an_edit_line_that_is_behind_follows_without_a_merge(worker: GitWorkspaces, site: Site) -> None:
    workspace, pushed = await edit(worker, site, delivery("j1"), index_html="new\n")
    await worker.land(workspace, pushed)
    site.pull()
    main = site.develop({"about.html": "<p>by hand</p>\n"})
    assert (await worker.open(delivery("j2"), site.project)).base == main


async def test_a_redelivered_job_finds_its_commit(
    worker: GitWorkspaces, site: Site, new_worker: NewWorker
) -> None:
    """The worker died after the push: its successor must not let the agent work twice."""
    workspace = await worker.open(delivery("j1"), site.project)
    (workspace.room.tree / "index.html").write_text("done\n")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    successor = new_worker()
    again = await successor.open(delivery("j1", fence=2), site.project)
    assert again.committed == commit
    assert (again.room.tree / "index.html").read_text() == "done\n"
    assert await successor.push(again, commit) is None
    assert (await successor.open(delivery("j2", fence=2), site.project)).committed == ""


async def test_a_repository_that_is_not_there_is_told_apart_from_one_that_does_not_answer(
    worker: GitWorkspaces, site: Site, tmp_path: Path
) -> None:
    for missing in (str(tmp_path / "nowhere"), f"file://{tmp_path}/nowhere", ""):
        with pytest.raises(NotFound, match="no repository"):
            await worker.open(delivery("j1"), Project("amelia", repository=missing))
    (tmp_path / "plain").mkdir()
    with pytest.raises(NotFound, match="no repository"):
        await worker.open(delivery("j1"), Project("amelia", repository=str(tmp_path / "plain")))
    git(tmp_path, "init", "-q", "--bare", str(tmp_path / "void.git"))
    with pytest.raises(NotFound, match="is empty"):
        await worker.open(delivery("j1"), Project("amelia", repository=str(tmp_path / "void.git")))
    with pytest.raises(BackendUnavailable, match="can't be used just now"):
        await worker.open(delivery("j1"), Project("amelia", repository="http://127.0.0.1:1/x.git"))
    for odd in ("-oProxyCommand=x", "ext::sh -c id", "a\nb"):
        with pytest.raises((BadInput, BackendUnavailable)):
            await worker.open(delivery("j1"), Project("amelia", repository=odd))
    assert (await worker.open(delivery("j1"), site.project)).base


async def test_no_secret_of_an_address_is_told(worker: GitWorkspaces) -> None:
    address = "http://amelia-bot:s3cr3t-t0ken@127.0.0.1:1/x.git"
    with pytest.raises(BackendUnavailable) as told:
        await worker.open(delivery("j1"), Project("amelia", repository=address))
    assert "127.0.0.1:1/x.git" in str(told.value)
    assert "s3cr3t" not in str(told.value)
    assert "amelia-bot" not in str(told.value)
    assert not [path for path in worker._root.rglob("*") if path.is_file() and b"s3cr3t" in path.read_bytes()]


async def test_only_what_uses_the_network_gets_its_environment(
    site: Site, new_worker: NewWorker, tmp_path: Path
) -> None:
    """Keys and helpers are for the way to the repository; git on a tree never sees them."""
    config, trace = tmp_path / "config", tmp_path / "trace"
    config.write_text(f'[url "{tmp_path}/"]\n\tinsteadOf = https://sites.invalid/\n')
    worker = new_worker(network={"GIT_CONFIG_GLOBAL": str(config), "GIT_TRACE": str(trace)})
    project = Project("amelia", repository="https://sites.invalid/amelia.git")
    workspace = await worker.open(delivery("j1"), project)
    (workspace.room.tree / "index.html").write_text("new\n")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    assert await worker.push(workspace, commit) is None
    assert commit == site.tip(EDIT)
    seen = {
        line.split("built-in: git ")[1].split()[0]
        for line in trace.read_text().splitlines()
        if "built-in" in line
    }
    assert {"fetch", "push"} <= seen
    assert not seen & {"add", "read-tree", "clean", "write-tree", "merge-tree", "log"}


async def test_a_damaged_mirror_is_made_anew(worker: GitWorkspaces, site: Site) -> None:
    """It is only a copy: a power cut must not stop a site for good."""
    await edit(worker, site, delivery("j1"), index_html="new\n")
    mirror = worker._root / "0" / "amelia" / "mirror.git"
    for loose in (mirror / "objects").glob("??/*"):
        loose.chmod(0o600)
        loose.write_bytes(b"")
    workspace = await worker.open(delivery("j2"), site.project)
    assert (workspace.room.tree / "index.html").read_text() == "new\n"


async def test_locks_of_a_killed_git_are_in_nobodys_way(
    site: Site, new_worker: NewWorker, tmp_path: Path
) -> None:
    first = new_worker(tmp_path / "one")
    workspace = await first.open(delivery("j1"), site.project)
    first.close()
    mirror = tmp_path / "one" / "0" / "amelia" / "mirror.git"
    for lock in (mirror / "refs" / "upstream" / "main.lock", mirror / "packed-refs.lock"):
        lock.touch()
    (workspace.room.tree.parent / "index.lock").touch()
    site.develop({"index.html": "later\n"})
    again = await new_worker(tmp_path / "one").open(delivery("j2"), site.project)
    assert (again.room.tree / "index.html").read_text() == "later\n"


async def test_a_cancelled_call_leaves_no_process_and_the_next_one_works(
    worker: GitWorkspaces, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    await worker.open(delivery("j1"), site.project)
    children: list[asyncio.SubprocessTransport] = []
    loop = asyncio.get_running_loop()
    start = loop.subprocess_exec

    async def noted(*command: object, **how: object) -> tuple[asyncio.SubprocessTransport, Any]:
        started: tuple[asyncio.SubprocessTransport, Any] = await start(*command, **how)  # type: ignore[arg-type]
        children.append(started[0])
        return started

    monkeypatch.setattr(loop, "subprocess_exec", noted)
    for steps in range(1, 120, 7):
        task = asyncio.ensure_future(worker.open(delivery(f"c{steps}"), site.project))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))
    assert children
    assert all(child.get_returncode() is not None for child in children)
    assert (await worker.open(delivery("j2"), site.project)).base == site.tip("refs/heads/main")


async def test_a_warm_open_takes_few_git_processes(
    worker: GitWorkspaces, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each is a few milliseconds; people wait for all of them."""
    site.develop({f"page{number}.html": PAGE * 20 for number in range(200)})
    await edit(worker, site, delivery("j1"), index_html="new\n")
    commands: list[str] = []
    loop = asyncio.get_running_loop()
    start = loop.subprocess_exec

    async def noted(protocol: object, *command: str, **how: object) -> tuple[object, object]:
        commands.append(next(word for word in command[1:] if word != "-c" and "=" not in word))
        return await start(protocol, *command, **how)  # type: ignore[arg-type]

    monkeypatch.setattr(loop, "subprocess_exec", noted)
    await worker.open(delivery("j2"), site.project)
    assert commands == ["fetch", "for-each-ref", "log", "merge-base", "read-tree", "clean"]


async def test_a_lane_and_its_conversation_may_be_named_alike(worker: GitWorkspaces, site: Site) -> None:
    plain = await worker.open(delivery("j1", session=""), site.project)
    for session in ("scott", "lane-scott", "lane_scott"):
        named = await worker.open(delivery("j2", session=session), site.project)
        assert named.room.tree != plain.room.tree
    assert SCOTT.user == "scott"
