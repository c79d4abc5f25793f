"""The other end of a ping: notes how long each datagram took to wake this process.

python -m bench.ear_process SOCKET NOTES
"""

from __future__ import annotations

import json
import signal
import socket
import sys
import time
from pathlib import Path

from bench.processes import hold


def main() -> None:
    """Hold, listen until told to stop, and leave the notes behind."""
    address, notes = sys.argv[1], Path(sys.argv[2])
    took: list[int] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(address)
        hold()
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
        try:
            while True:
                sent = ear.recv(64)
                took.append(time.monotonic_ns() - int(sent))
        finally:
            notes.write_text(json.dumps(took), "utf-8")


if __name__ == "__main__":
    main()
