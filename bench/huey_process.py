"""A consumer of huey: one worker thread, for its threads share one connection and gain nothing.

python -m bench.huey_process FILE NOTES
"""

from __future__ import annotations

import json
import logging
import sys
from pathlib import Path

from bench.huey_peer import open_queue
from bench.processes import hold


def main() -> None:
    """Hold, consume until told to stop, and leave the notes behind."""
    logging.disable(logging.ERROR)  # lines about each task would only slow it down
    path, notes = Path(sys.argv[1]), Path(sys.argv[2])
    queue = open_queue(path)
    consumer = queue.huey.create_consumer(workers=1, periodic=False, graceful_signal="TERM")
    hold()
    consumer.run()
    notes.write_text(json.dumps(queue.notes), "utf-8")


if __name__ == "__main__":
    main()
