"""Repositories of our own making."""

import asyncio
from pathlib import Path

import pytest

from tests.needs import needs
from tests.workspace.site import ENVIRONMENT, Site, delivery, edit, git
from webordinary.core.errors import BadInput, NotFound
from webordinary.core.site import Project
from webordinary.sites.git.repositories import GitRepositories
from webordinary.sites.git.workspaces import GitWorkspaces


@pytest.fixture(autouse=True)
def _git() -> None:
    needs("git")


async def test_a_site_begins_with_a_page(tmp_path: Path) -> None:
    where = await GitRepositories(tmp_path / "repositories").create("amelia")
    assert where == str(tmp_path / "repositories" / "amelia.git")
    assert "<h1>Welcome</h1>" in git(Path(where), "show", "main:index.html")
    assert git(Path(where), "symbolic-ref", "HEAD") == "refs/heads/main"
    git(Path(where), "fsck", "--strict")
    assert [path.name for path in (tmp_path / "repositories").iterdir()] == ["amelia.git"]


async def test_a_starter_site_is_taken_as_it_is(tmp_path: Path) -> None:
    starter = tmp_path / "starter"
    (starter / "css").mkdir(parents=True)
    (starter / "index.html").write_bytes(b"<p>hello</p>\r\n")
    (starter / "css" / "style.css").write_text("p { color: red }\n")
    git(starter, "init", "-q")
    where = Path(await GitRepositories(tmp_path / "repositories").create("amelia", starter))
    assert git(where, "ls-tree", "-r", "--name-only", "main").split() == ["css/style.css", "index.html"]
    assert git(where, "cat-file", "-s", "main:index.html") == "14"
    assert (starter / ".git").is_dir()


async def test_what_is_there_stays_as_it_is(tmp_path: Path) -> None:
    repositories = GitRepositories(tmp_path)
    where = Path(await repositories.create("amelia"))
    before = git(where, "rev-parse", "main")
    (tmp_path / "starter").mkdir()
    (tmp_path / "starter" / "index.html").write_text("other")
    assert await repositories.create("amelia", tmp_path / "starter") == str(where)
    assert git(where, "rev-parse", "main") == before


async def test_many_at_once_make_one(tmp_path: Path) -> None:
    made = await asyncio.gather(*(GitRepositories(tmp_path).create("amelia") for _ in range(4)))
    assert set(made) == {str(tmp_path / "amelia.git")}
    assert [path.name for path in tmp_path.iterdir()] == ["amelia.git"]


async def test_bad_names_and_missing_starters_leave_nothing(tmp_path: Path) -> None:
    for name in ("../x", "", "a/b", "UPPER", "live"):
        with pytest.raises(BadInput):
            await GitRepositories(tmp_path / "repositories").create(name)
    with pytest.raises(NotFound):
        await GitRepositories(tmp_path / "repositories").create("amelia", tmp_path / "nowhere")
    assert not list((tmp_path / "repositories").iterdir())


async def test_one_that_was_cut_short_leaves_no_half(tmp_path: Path) -> None:
    for steps in range(1, 60, 3):
        task = asyncio.ensure_future(GitRepositories(tmp_path / "repositories").create("amelia"))
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait((task,))
    where = Path(await GitRepositories(tmp_path / "repositories").create("amelia"))
    assert git(where, "rev-list", "--count", "main") == "1"


async def test_it_is_edited_like_any_other(tmp_path: Path, worker: GitWorkspaces, site: Site) -> None:
    where = await GitRepositories(tmp_path / "own").create("amelia")
    project = Project("amelia", repository=where)
    workspace = await worker.open(delivery("j1"), project)
    assert "Welcome" in (workspace.room.tree / "index.html").read_text()
    assert ENVIRONMENT["HOME"] == "/nonexistent"
    await edit(worker, site, delivery("j2"), index_html="x\n")
