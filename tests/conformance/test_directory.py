"""The directory: which projects there are, and who may edit them from which address."""

import asyncio

import pytest

from tests.conformance.world import AMELIA, AMELIA_2, BRAVO, START, World
from webordinary.core.errors import NotFound
from webordinary.core.job import Arrival
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.ports.directory import Directory

SCOTT, TARA = "scott@example.org", "tara@example.org"


@pytest.fixture
async def directory(world: World) -> Directory:
    """A directory with two projects and nobody in them."""
    for name in ("amelia", "bravo"):
        await world.backend.directory.add_project(Project(name))
    return world.backend.directory


async def test_a_project_is_kept_as_it_was_given(world: World) -> None:
    given = Project("amelia", Arrival.QUEUE, "https://example.org/site.git")
    assert await world.backend.directory.add_project(given)
    found = await world.backend.directory.project("amelia")
    assert found == Project("amelia", Arrival.QUEUE, "https://example.org/site.git", created_at=START)


@pytest.mark.parametrize("name", ["nobody", "", "a\x00b", "a\ud800b"])
async def test_a_project_that_nobody_added_is_not_there(directory: Directory, name: str) -> None:
    """What a mail names may be anything; looking it up must not hurt."""
    assert await directory.project(name) is None
    assert await directory.lanes_of(name) == []


async def test_a_project_is_added_once(world: World, directory: Directory) -> None:
    """The second onboarding of a name must not silently change the first one's policy."""
    before = await directory.project("amelia")
    world.clock.advance(1)
    assert not await directory.add_project(Project("amelia", Arrival.QUEUE, "elsewhere"))
    assert await directory.project("amelia") == before


async def test_a_project_is_changed_when_that_is_said(world: World, directory: Directory) -> None:
    """Its members and its age are not what changes."""
    await directory.add_member(Member(AMELIA, SCOTT))
    world.clock.advance(1)
    assert not await directory.add_project(Project("amelia", Arrival.QUEUE, "elsewhere"), change=True)
    assert await directory.project("amelia") == Project("amelia", Arrival.QUEUE, "elsewhere", START)
    assert await directory.members("amelia") == [Member(AMELIA, SCOTT)]


async def test_changing_a_project_that_is_not_there_adds_it(directory: Directory) -> None:
    assert await directory.add_project(Project("coral"), change=True)


async def test_projects_come_by_name_in_pages(world: World) -> None:
    names = [f"p{number}" for number in (5, 3, 1, 4, 2)]
    for name in names:
        await world.backend.directory.add_project(Project(name))
    paged: list[str] = []
    while page := await world.backend.directory.projects(limit=2, after=paged[-1] if paged else ""):
        paged += [project.name for project in page]
    assert paged == sorted(names)


async def test_an_address_edits_a_project_as_one_user(directory: Directory) -> None:
    """Otherwise one mail would belong to two lanes, and nobody could say in which order."""
    assert await directory.add_member(Member(AMELIA, SCOTT)) is None
    assert await directory.add_member(Member(AMELIA, SCOTT)) == AMELIA
    assert await directory.add_member(Member(AMELIA_2, SCOTT)) == AMELIA
    assert await directory.members("amelia") == [Member(AMELIA, SCOTT)]


async def test_an_address_may_edit_several_projects(directory: Directory) -> None:
    await directory.add_member(Member(BRAVO, SCOTT))
    await directory.add_member(Member(AMELIA, SCOTT))
    assert await directory.lanes_of(SCOTT) == [AMELIA, BRAVO]
    assert await directory.lanes_of(TARA) == []


async def test_a_user_may_have_several_addresses_and_a_project_several_users(directory: Directory) -> None:
    members = [Member(AMELIA_2, TARA), Member(AMELIA, "s@example.net"), Member(AMELIA, SCOTT)]
    for member in members:
        assert await directory.add_member(member) is None
    listed = [Member(AMELIA, "s@example.net"), Member(AMELIA, SCOTT), Member(AMELIA_2, TARA)]
    assert await directory.members("amelia") == listed
    assert await directory.members("bravo") == []


async def test_nobody_becomes_a_member_of_a_project_that_is_not_there(directory: Directory) -> None:
    with pytest.raises(NotFound, match="coral"):
        await directory.add_member(Member(Lane("coral", "lee"), SCOTT))
    assert await directory.lanes_of(SCOTT) == []


async def test_an_address_is_looked_up_exactly(directory: Directory) -> None:
    """A pattern in a forged address must match nobody."""
    await directory.add_member(Member(AMELIA, SCOTT))
    for near in ("%@example.org", "scott@example_org", "SCOTT@example.org", " scott@example.org"):
        assert await directory.lanes_of(near) == []


async def test_one_address_is_taken_from_a_user(directory: Directory) -> None:
    for member in (Member(AMELIA, SCOTT), Member(AMELIA, TARA), Member(BRAVO, SCOTT)):
        await directory.add_member(member)
    assert await directory.remove_member(AMELIA_2, SCOTT) == 0
    assert await directory.remove_member(AMELIA, SCOTT) == 1
    assert await directory.remove_member(AMELIA, SCOTT) == 0
    assert await directory.lanes_of(SCOTT) == [BRAVO]
    assert await directory.members("amelia") == [Member(AMELIA, TARA)]


async def test_all_addresses_are_taken_from_a_user(directory: Directory) -> None:
    for member in (Member(AMELIA, SCOTT), Member(AMELIA, "s@example.net"), Member(AMELIA_2, TARA)):
        await directory.add_member(member)
    assert await directory.remove_member(AMELIA) == 2
    assert await directory.members("amelia") == [Member(AMELIA_2, TARA)]


async def test_a_project_goes_with_its_members_and_without_its_jobs(
    world: World, directory: Directory
) -> None:
    """What was done stays to be looked up; who may do more is gone at once."""
    await directory.add_member(Member(AMELIA, SCOTT))
    await directory.add_member(Member(BRAVO, SCOTT))
    job = await world.submit(AMELIA)
    assert await directory.remove_project("amelia")
    assert not await directory.remove_project("amelia")
    assert await directory.lanes_of(SCOTT) == [BRAVO]
    assert [project.name for project in await directory.projects(limit=10)] == ["bravo"]
    assert (await world.view(job)).lane == AMELIA


async def test_of_many_users_who_want_one_address_exactly_one_gets_it(directory: Directory) -> None:
    """Two operators may onboard at the same moment."""
    lanes = [Lane("amelia", f"u{number}") for number in range(8)]
    answers = await asyncio.gather(*(directory.add_member(Member(lane, SCOTT)) for lane in lanes))
    (winner,) = await directory.lanes_of(SCOTT)
    assert answers.count(None) == 1
    assert {answer for answer in answers if answer} == {winner}
