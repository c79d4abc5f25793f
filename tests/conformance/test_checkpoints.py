"""Checkpoints: how far a mailbox was read is kept as it was given, a folder each."""

import pytest

from tests.conformance.world import World
from webordinary.ports.checkpoints import Checkpoint

INBOX = "scott@imap.example.com/INBOX"


async def test_a_folder_that_was_never_read_has_no_checkpoint(world: World) -> None:
    """That is how the first contact is known, which leaves older mail alone."""
    await world.backend.checkpoints.save(INBOX, Checkpoint(1, 2, 3.0))
    assert await world.backend.checkpoints.load("scott@imap.example.com/Archive") is None


@pytest.mark.parametrize(
    "checkpoint",
    [
        Checkpoint(uid_validity=0, first_uid=1, since=0.0),
        Checkpoint(uid_validity=2**32 - 1, first_uid=2**32 - 1, since=1_700_000_000.25, unsettled=(5, 9)),
        Checkpoint(7, 50_001, 1.0, unsettled=tuple(range(1, 40_001)), took_all=True),
    ],
)
async def test_a_checkpoint_comes_back_as_it_was_saved(world: World, checkpoint: Checkpoint) -> None:
    """UIDs are 32 bits wide; and a folder that was rebuilt may leave many mails to look at again."""
    await world.backend.checkpoints.save(INBOX, checkpoint)
    assert await world.backend.checkpoints.load(INBOX) == checkpoint


async def test_a_later_checkpoint_replaces_the_earlier_one_of_its_folder_only(world: World) -> None:
    """Two mailboxes may number their mails alike."""
    checkpoints = world.backend.checkpoints
    await checkpoints.save(INBOX, Checkpoint(1, 10, 0.0, (4,)))
    await checkpoints.save("héloïse@imap.example.com/Entwürfe", Checkpoint(1, 20, 0.0))
    await checkpoints.save(INBOX, Checkpoint(1, 11, 0.0))
    assert await checkpoints.load(INBOX) == Checkpoint(1, 11, 0.0)
    assert await checkpoints.load("héloïse@imap.example.com/Entwürfe") == Checkpoint(1, 20, 0.0)
