"""Accepted mails a second, over one connection and over twenty, beside the same SMTP library doing nothing.

An accepted mail is read in a bounded process, believed, routed, and durable as raw bytes, record, job and
owed letter before its 250.
"""

from __future__ import annotations

import smtplib
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bench.effort import Effort
from bench.mail_process import LANES
from bench.processes import READY, ROOT, STOP_SECONDS
from bench.report import Row, ratios, row

ROUNDS = 3
MAILS = 300
CONNECTIONS = (1, 20)
SHARE_AT_LEAST = 0.3
SYNCS_AT_MOST = 3.0


@dataclass(slots=True)
class Server:
    """A mail server that runs, and what it waited for."""

    port: int
    syncs_each: float = 0.0


def measure(folder: Path, effort: Effort) -> list[Row]:
    """Send the same mails to both, turn by turn."""
    rows, mails = [], effort.size(MAILS, least=20)
    for connections in CONNECTIONS if effort.share >= 1 else CONNECTIONS[-1:]:
        ours, theirs, syncs = [], [], []
        for number in range(effort.times(ROUNDS)):
            with _server(folder / f"mail-{connections}-{number}") as server:
                ours.append(_rate(server.port, connections, mails))
            syncs.append(server.syncs_each)
            with _server(None) as server:
                theirs.append(_rate(server.port, connections, mails))
        many = f"{connections} connection{'s' if connections > 1 else ''}"
        rows += [
            row("mail", f"accepted over {many}", "/s", ours),
            row("mail", f"an empty handler over {many}", "/s", theirs),
            row(
                "mail",
                f"... ours as a share of that, {many}",
                "x",
                ratios(ours, theirs),
                at_least=SHARE_AT_LEAST,
            ),
            row("mail", f"syncs a mail, {many}", "", syncs, at_most=SYNCS_AT_MOST),
        ]
    return rows


@contextmanager
def _server(home: Path | None) -> Iterator[Server]:
    command = [sys.executable, "-m", "bench.mail_process", *([str(home)] if home else [])]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        if process.stdout.readline().strip() != READY:
            raise RuntimeError("the mail server of the measurement did not come up")
        server = Server(int(process.stdout.readline()))
        yield server
        process.terminate()
        mails, syncs = map(int, process.stdout.readline().split())
        server.syncs_each = syncs / mails
    finally:
        process.terminate()
        process.wait(STOP_SECONDS)
        assert process.stdout is not None
        process.stdout.close()


def _rate(port: int, connections: int, mails: int) -> float:
    _send(port, range(-connections, 0))  # everybody is awake before the clock starts
    parts = [range(part, mails, connections) for part in range(connections)]
    threads = [threading.Thread(target=_send, args=(port, part)) for part in parts]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return mails / (time.perf_counter() - began)


def _send(port: int, numbers: range) -> None:
    with smtplib.SMTP("127.0.0.1", port) as server:
        for number in numbers:
            sender = f"user{number % LANES}@example.com"
            text = (
                f"From: {sender}\r\nTo: edit@localhost\r\nSubject: [queue] change {number}\r\n"
                f"Message-ID: <{number}@example.com>\r\n\r\nChange the title to number {number}\r\n"
            )
            server.sendmail(sender, ["edit@localhost"], text)
