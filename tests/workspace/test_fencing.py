"""A stale owner changes nothing in the repository: git itself refuses it."""

import asyncio

import pytest

from tests.workspace.conftest import NewWorker
from tests.workspace.site import EDIT, MAYA, PAGE, Site, delivery, edit, git, pushed, signed
from webordinary.core.errors import BackendUnavailable, ClaimLost
from webordinary.ports.workspaces import Workspace
from webordinary.sites.git.mirror import Mirror
from webordinary.sites.git.workspaces import GitWorkspaces

FENCE = "refs/webordinary/lanes/amelia-scott"


async def committed(worker: GitWorkspaces, site: Site, fence: int, text: str) -> tuple[Workspace, str]:
    workspace = await worker.open(delivery(f"j{fence}", fence=fence), site.project)
    (workspace.room.tree / "index.html").write_text(text)
    commit = await worker.commit(workspace, signed())
    assert isinstance(commit, str)
    return workspace, commit


async def test_opening_puts_the_fence_into_the_repository(worker: GitWorkspaces, site: Site) -> None:
    await worker.open(delivery("j1", fence=7), site.project)
    assert site.message(FENCE).startswith("fence 7 of s1\n")
    held = site.tip(FENCE)
    await worker.open(delivery("j2", fence=7), site.project)
    assert site.tip(FENCE) == held
    await worker.open(delivery("j3", fence=8), site.project)
    assert site.message(FENCE).startswith("fence 8 of s1\n")


async def test_a_stale_push_is_refused_by_git(site: Site, new_worker: NewWorker) -> None:
    """Nobody has pushed since: only the fence tells the two apart."""
    stale, fresh = new_worker(), new_worker()
    workspace, commit = await committed(stale, site, 1, "stale\n")
    await fresh.open(delivery("j2", fence=2), site.project)
    before = site.refs()
    for _ in range(2):
        with pytest.raises(ClaimLost, match="newer owner"):
            await stale.push(workspace, commit)
    with pytest.raises(ClaimLost):
        await stale.keep_aside(workspace, signed())
    with pytest.raises(ClaimLost):
        await stale.land(workspace, commit)
    with pytest.raises(ClaimLost):
        await stale.open(delivery("j1"), site.project)
    assert site.refs() == before


async def test_a_stale_push_is_refused_even_when_it_was_under_way(site: Site, new_worker: NewWorker) -> None:
    """The newer owner comes in after the repository told the stale one its refs, and before it moves them."""
    stale = new_worker()
    workspace, commit = await committed(stale, site, 1, "stale\n")
    newer = site.folder / "newer"
    mirror = Mirror(newer, str(site.repository), site.clock, network_environment={}, store="s1")
    await mirror.prepare()
    fence = await mirror.make_fence(2)
    git(newer, "push", "-q", str(site.repository), f"{fence}:refs/tags/newer")
    hook = site.repository / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(
        f"#!/bin/sh\nunset GIT_QUARANTINE_PATH GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES\n"
        f"git update-ref {FENCE} {fence}\ntouch raced\n"
    )
    hook.chmod(0o755)
    with pytest.raises(ClaimLost):
        await stale.push(workspace, commit)
    assert (site.repository / "raced").exists()
    assert site.tip(FENCE) == fence
    assert site.tip(EDIT) == site.tip("refs/heads/session/talk") == ""


@pytest.mark.parametrize("fence", [1, 7])
async def test_a_new_store_goes_on_with_a_repository_that_another_one_used(
    site: Site, new_worker: NewWorker, fence: int
) -> None:
    """A home was lost, its sites were not: fences are counted from one again."""
    former, new = new_worker(), new_worker(store="s2")
    workspace, commit = await committed(former, site, 7, "former\n")
    await former.push(workspace, commit)
    later, newer_commit = await committed(new, site, fence, "new\n")
    assert site.message(FENCE).startswith(f"fence {fence} of s2\n")
    await new.push(later, newer_commit)
    assert site.read("index.html") == b"new\n"
    await new.open(delivery("j9", fence=fence + 1), site.project)
    with pytest.raises(ClaimLost):
        await new.push(later, newer_commit)


async def test_a_fence_from_before_stores_had_names_counts(site: Site, new_worker: NewWorker) -> None:
    await new_worker(store="").open(delivery("j1", fence=7), site.project)
    with pytest.raises(ClaimLost):
        await new_worker().open(delivery("j2", fence=6), site.project)


async def test_of_many_owners_only_the_newest_gets_in(site: Site, new_worker: NewWorker) -> None:
    workers = [new_worker() for _ in range(4)]

    async def whole_job(fence: int) -> str | None:
        try:
            workspace, commit = await committed(workers[fence - 1], site, fence, PAGE + f"<p>{fence}</p>\n")
            await workers[fence - 1].push(workspace, commit)
        except ClaimLost:
            return None
        return commit

    commits = await asyncio.gather(*(whole_job(fence) for fence in (1, 2, 3, 4)))
    assert commits[3]
    assert site.message(FENCE).startswith("fence 4 of s1\n")
    for commit in filter(None, commits):
        git(site.repository, "merge-base", "--is-ancestor", commit, EDIT)


async def test_a_push_whose_answer_was_lost_may_be_repeated(worker: GitWorkspaces, site: Site) -> None:
    """It took effect, and we were not told: the fence there is ours, though not the one we remember."""
    workspace, commit = await committed(worker, site, 1, "new\n")
    mirror = worker._root / "0" / "amelia" / "mirror.git"
    known = {
        ref: git(mirror, "rev-parse", ref)
        for ref in git(mirror, "for-each-ref", "--format=%(refname)").split()
    }
    assert await worker.push(workspace, commit) is None
    after = site.refs()
    for ref in git(mirror, "for-each-ref", "--format=%(refname)").split():
        git(mirror, "update-ref", *((ref, known[ref]) if ref in known else ("-d", ref)))
    assert await worker.push(workspace, commit) is None
    assert site.refs() == after


async def test_a_repository_that_refuses_says_so(worker: GitWorkspaces, site: Site) -> None:
    workspace, commit = await committed(worker, site, 1, "new\n")
    hook = site.repository / "hooks" / "pre-receive"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text("#!/bin/sh\necho frozen until monday >&2\nexit 1\n")
    hook.chmod(0o755)
    with pytest.raises(BackendUnavailable, match=r"refused our change.*frozen until monday"):
        await worker.push(workspace, commit)
    assert site.tip(EDIT) == ""


async def test_lanes_on_many_machines_all_get_in(site: Site, new_worker: NewWorker) -> None:
    lanes = [type(MAYA)("amelia", f"user{number}") for number in range(4)]

    async def whole_job(number: int) -> None:
        work = delivery(f"j{number}", lane=lanes[number], session=f"s{number}")
        await edit(new_worker(), site, work, **{f"page{number}_html": "x\n"})

    await asyncio.gather(*(whole_job(number) for number in range(4)))
    assert all(site.read(f"page{number}.html") == b"x\n" for number in range(4))
    for number in range(4):
        git(site.repository, "merge-base", "--is-ancestor", f"refs/heads/session/s{number}", EDIT)


async def test_an_owner_whose_claim_was_lost_leaves_a_lane_of_the_same_machine_alone(
    worker: GitWorkspaces, site: Site
) -> None:
    """One mirror serves several lanes: what one sees must not make the other's push stale."""
    workspace, commit = await committed(worker, site, 1, PAGE.replace("one", "1"))
    await edit(worker, site, delivery("m1", lane=MAYA, session="hers"), about_html="hers\n")
    assert await pushed(worker, workspace, commit) == site.tip()
    assert site.read("about.html") == b"hers\n"
