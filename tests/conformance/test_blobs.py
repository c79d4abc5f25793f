"""Blobs: bytes under the hash of their content, small or large."""

import asyncio
import hashlib

import pytest

from tests.conformance.world import World
from webordinary.core.errors import NotFound


@pytest.mark.parametrize("content", [b"", b"\x00\xff" * 100, b"x" * 65_536, b"y" * 65_537, b"z" * 3_000_000])
async def test_bytes_come_back_as_they_went_in(world: World, content: bytes) -> None:
    key = await world.backend.blobs.put(content)
    assert key == hashlib.sha256(content).hexdigest()
    assert await world.backend.blobs.get(key) == content


async def test_the_same_bytes_twice_are_one(world: World) -> None:
    keys = await asyncio.gather(*(world.backend.blobs.put(b"mail") for _ in range(5)))
    assert len(set(keys)) == 1


@pytest.mark.parametrize("key", ["0" * 64, "", "../../etc/passwd", "A" * 64, "\ud800"])
async def test_a_key_that_nobody_was_given_is_not_found(world: World, key: str) -> None:
    await world.backend.blobs.put(b"something")
    with pytest.raises(NotFound):
        await world.backend.blobs.get(key)
