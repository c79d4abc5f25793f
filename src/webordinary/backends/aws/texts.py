"""Instructions: beside their job if they are short, in items of their own if they are not."""

from __future__ import annotations

import zlib
from collections.abc import Iterable

from webordinary.backends.aws.dynamo import Dynamo
from webordinary.backends.aws.rows import job_key
from webordinary.backends.aws.values import Item

INLINE_BYTES = 2_000  # a job's item is written several times, its instruction only once
PART_BYTES = 300_000  # an item has at most 400 KB


def split(instruction: str) -> tuple[Item, list[bytes]]:
    """Say what goes into the job's item, and what into further ones."""
    raw = instruction.encode()
    if len(raw) <= INLINE_BYTES:
        return {"instruction": instruction}, []
    small = zlib.compress(raw)
    parts = [small[start : start + PART_BYTES] for start in range(0, len(small), PART_BYTES)]
    return {"textParts": len(parts)}, parts


def text_items(job: str, parts: list[bytes]) -> list[Item]:
    """The further items."""
    return [{**job_key(job, _part(number)), "text": part} for number, part in enumerate(parts)]


async def instructions(dynamo: Dynamo, table: str, items: Iterable[Item]) -> dict[str, str]:
    """Read the instructions of jobs."""
    found = {item["jobId"]: item["instruction"] for item in items if "instruction" in item}
    split_up = {item["jobId"]: item["textParts"] for item in items if "textParts" in item}
    keys = [job_key(job, _part(number)) for job, parts in split_up.items() for number in range(parts)]
    if keys:
        parts = (await dynamo.get_many({table: keys}))[table]
        parts.sort(key=lambda item: (item["jobId"], item["part"]))
        for job in split_up:
            whole = b"".join(item["text"] for item in parts if item["jobId"] == job)
            found[job] = zlib.decompress(whole).decode()
    return found


def _part(number: int) -> str:
    return f"text {number}"
