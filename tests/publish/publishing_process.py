"""A process that publishes: `publishing_process.py ROOT SITE_A SITE_B FENCE`.

Without end it publishes A and B in turn, never the same release twice, and writes a line for each; a stale
fence ends it with exit code 3.
"""

import asyncio
import os
import sys
from pathlib import Path

from tests.publish.site_files import claim, put, released
from webordinary.core.errors import ClaimLost
from webordinary.sites.folder_publisher import FolderPublisher

LOST = 3


async def main(root: str, first: str, second: str, fence: str) -> None:
    publisher = FolderPublisher(Path(root), address=lambda *_: "")
    mine = claim(int(fence))
    print("ready", flush=True)
    number = 0
    while True:
        folder = put(Path((first, second)[number % 2]), {"stamp.txt": f"{os.getpid()} {number}"})
        try:
            await publisher.publish(mine, released(folder), folder, f"commit{number}")
        except ClaimLost:
            sys.exit(LOST)
        print(number, flush=True)
        number += 1


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
