"""An agent, or whoever talked it into something, prepares a tree: nothing of it may run or reach out."""

import os
import socket
from pathlib import Path

import pytest

from tests.workspace.site import EDIT, PAGE, Site, delivery, files_in, git, signed
from webordinary.sites.git.process import ENVIRONMENT
from webordinary.sites.git.sanitize_tree import remove, scrub
from webordinary.sites.git.workspaces import GitHistory, GitWorkspaces


@pytest.fixture
def trap(tmp_path: Path) -> Path:
    """A program that tells when it is run."""
    program = tmp_path / "trap.sh"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/sprung\ncat\n")
    program.chmod(0o755)
    return program


def sprung(trap: Path) -> bool:
    return (trap.parent / "sprung").exists()


def plant_repository(folder: Path, trap: Path, name: str = ".git") -> None:
    """A repository that runs the trap wherever git lets it."""
    folder.mkdir(parents=True, exist_ok=True)
    git(folder, "init", "-q", "--separate-git-dir", str(folder / "planted"), ".")
    (folder / ".git").unlink()
    (folder / "planted").rename(folder / name)
    hooks = folder / name / "hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-checkout", "post-index-change", "pre-commit", "reference-transaction", "pre-push"):
        (hooks / hook).symlink_to(trap)
    with (folder / name / "config").open("a") as config:
        config.write(
            f"[core]\n\tfsmonitor = {trap}\n\thooksPath = {hooks}\n\tsshCommand = {trap}\n\tpager = {trap}\n"
            f'[filter "trap"]\n\tclean = {trap}\n\tsmudge = {trap}\n\tprocess = {trap}\n\trequired = true\n'
            f'[diff]\n\texternal = {trap}\n[diff "trap"]\n\ttextconv = {trap}\n\tcommand = {trap}\n'
            f'[merge "trap"]\n\tdriver = {trap} %A\n'
        )


async def whole_job(worker: GitWorkspaces, site: Site, job: str, trap: Path, name: str) -> Path:
    workspace = await worker.open(delivery(job), site.project)
    tree = workspace.room.tree
    plant_repository(tree, trap, name)
    plant_repository(tree / "nested" / "deep", trap, name)
    (tree / "nested" / "deep" / "page.html").write_text(job)
    (tree / ".gitattributes").write_text("* filter=trap diff=trap merge=trap\n")
    (tree / "nested" / ".gitattributes").write_text("[attr]binary filter=trap\n* binary diff=trap\n")
    (tree / "index.html").write_text(f"{job}\n")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    await GitHistory(worker).patch(workspace, commit)
    await GitHistory(worker).changes(workspace, commit)
    return tree


@pytest.mark.parametrize("name", [".git", ".GIT", ".Git", "git~1", ".git "])
async def test_nothing_planted_runs(worker: GitWorkspaces, site: Site, trap: Path, name: str) -> None:
    for job in ("j1", "j2"):
        tree = await whole_job(worker, site, job, trap, name)
        assert not sprung(trap)
        assert "nested/deep/page.html" in files_in(tree)
        assert not [path for path in files_in(tree) if name in path.split("/")]
    listed = git(site.repository, "ls-tree", "-r", "--name-only", EDIT).split("\n")
    assert "nested/deep/page.html" in listed
    assert "160000" not in git(site.repository, "ls-tree", "-r", EDIT)


async def test_the_trap_would_have_been_sprung_by_plain_git(tmp_path: Path, trap: Path) -> None:
    """Without this the test above proves nothing."""
    plant_repository(tmp_path / "plain", trap)
    (tmp_path / "plain" / "page").touch()
    git(tmp_path / "plain", "add", "page")
    assert sprung(trap)


async def test_a_git_file_that_points_elsewhere_is_not_followed(worker: GitWorkspaces, site: Site) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    tree = workspace.room.tree
    (tree / ".git").write_text(f"gitdir: {site.developer}/.git\n")
    (tree / "sub").mkdir()
    (tree / "sub" / ".git").symlink_to(site.developer / ".git")
    (tree / "sub" / "page").touch()
    head = git(site.developer, "rev-parse", "HEAD")
    assert isinstance(await worker.commit(workspace, signed()), str)
    assert git(site.developer, "rev-parse", "HEAD") == head
    assert (site.developer / ".git" / "config").exists()
    assert files_in(tree) == {"index.html", "about.html", ".gitignore", "sub/page"}


async def test_symlinks_lead_nobody_out_of_the_tree(
    worker: GitWorkspaces, site: Site, tmp_path: Path
) -> None:
    outside = tmp_path / "outside"
    (outside / ".git").mkdir(parents=True)
    (outside / "precious.html").write_text("precious")
    workspace = await worker.open(delivery("j1"), site.project)
    tree = workspace.room.tree
    (tree / "way").symlink_to(outside)
    (tree / "about.html").unlink()
    (tree / "about.html").symlink_to(outside / "precious.html")
    (tree / ".gitmodules").symlink_to(outside / "precious.html")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    site.develop({"way/page.html": "a real folder\n"})
    again = await worker.open(delivery("j2"), site.project)
    assert again.conflicts
    assert files_in(outside) == {"precious.html"}
    assert (outside / ".git").is_dir()
    assert (outside / "precious.html").read_text() == "precious"


async def test_a_symlink_in_the_place_of_a_folder_is_not_written_through(
    worker: GitWorkspaces, site: Site, tmp_path: Path
) -> None:
    site.develop({"pages/one.html": "one\n"})
    (tmp_path / "outside").mkdir()
    tree = (await worker.open(delivery("j1"), site.project)).room.tree
    remove(tree / "pages")
    (tree / "pages").symlink_to(tmp_path / "outside")
    await worker.open(delivery("j2"), site.project)
    assert not files_in(tmp_path / "outside")
    assert (tree / "pages" / "one.html").read_text() == "one\n"
    assert not (tree / "pages").is_symlink()


async def test_pipes_sockets_and_unreadable_files_do_not_stop_a_commit(
    worker: GitWorkspaces, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = await worker.open(delivery("j1"), site.project)
    tree = workspace.room.tree
    (tree / "about.html").unlink()
    os.mkfifo(tree / "about.html")
    monkeypatch.chdir(tree)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket")
    (tree / "closed").mkdir()
    (tree / "closed" / "page.html").write_text("x")
    (tree / "closed" / "page.html").chmod(0)
    (tree / "closed").chmod(0)
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    kinds = {change.path: change.kind for change in await GitHistory(worker).changes(workspace, commit)}
    assert kinds == {"about.html": "removed", "closed/page.html": "added"}


async def test_folders_without_a_bottom_are_removed(worker: GitWorkspaces, site: Site) -> None:
    """Neither we nor git could name what is in them."""
    workspace = await worker.open(delivery("j1"), site.project)
    here = os.open(workspace.room.tree, os.O_RDONLY)
    try:
        for _ in range(3_000):
            os.mkdir("deep", dir_fd=here)
            below = os.open("deep", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
    finally:
        os.close(here)
    assert await worker.commit(workspace, signed()) is None
    assert files_in(workspace.room.tree) == {"index.html", "about.html", ".gitignore"}


async def test_submodules_are_left_alone(worker: GitWorkspaces, site: Site) -> None:
    """Never fetched, never lost, and files put into their place do no harm."""
    head = git(site.developer, "rev-parse", "HEAD")
    (site.developer / ".gitmodules").write_text('[submodule "m"]\n\tpath = m\n\turl = http://127.0.0.1:1/m\n')
    git(site.developer, "update-index", "--add", "--cacheinfo", f"160000,{head},m")
    git(site.developer, "add", ".gitmodules")
    git(site.developer, "commit", "-q", "-m", "module")
    git(site.developer, "push", "-q", "origin", "HEAD:main")
    workspace = await worker.open(delivery("j1"), site.project)
    assert not files_in(workspace.room.tree / "m")
    (workspace.room.tree / "index.html").write_text("new\n")
    (workspace.room.tree / "m" / "x").write_text("into the module")
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    await worker.push(workspace, commit)
    assert f"160000 commit {head}\tm" in git(site.repository, "ls-tree", EDIT)
    assert [change.path for change in await GitHistory(worker).changes(workspace, commit)] == ["index.html"]
    again = await worker.open(delivery("j2"), site.project)
    assert (again.room.tree / "index.html").read_text() == "new\n"


def test_scrubbing_a_plain_tree_changes_nothing(tmp_path: Path) -> None:
    for name in (
        ".gitignore",
        ".gitattributes",
        ".github/workflows/x.yml",
        "a.git",
        "git",
        ".gitx",
        "x/.gitkeep",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(PAGE)
    before = files_in(tmp_path)
    scrub(tmp_path)
    assert files_in(tmp_path) == before


def test_git_gets_nothing_of_our_surroundings() -> None:
    assert ENVIRONMENT["HOME"] == "/nonexistent"
    assert ENVIRONMENT["GIT_CONFIG_GLOBAL"] == "/dev/null"
    assert ENVIRONMENT["GIT_CONFIG_NOSYSTEM"] == "1"
