"""Waking waiters in other processes: datagram sockets in a folder beside the store.

A process that waits has one socket for each kind of topic it listens to; a process that committed something
sends its topics to the sockets of their kind, and to nobody who would not care. A slow look at the file's
change counter covers what a lost datagram could miss.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
import os
import socket
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path

from webordinary.backends.wakeups import LocalWakeups, Subscription
from webordinary.claim.rows import WORKER
from webordinary.core.errors import BackendUnavailable

log = logging.getLogger("webordinary.store")

SOCKET_PATH_BYTES = 100  # what fits a socket address everywhere, with a little room
SOCKET_NAME_BYTES = 40
DATAGRAM_BYTES = 16_000
DATAGRAMS_PER_READ = 64
MISSED_WAKEUP_SECONDS = 1.0
FOLDER_TICK_NS = 100_000_000  # a folder that changed twice within a tick of its file system shows one time
EVERYTHING = b"*"


class SocketWakeups:
    """Wakes waiters of this process and of all others on the same store."""

    def __init__(self, store: Path, name: str) -> None:
        """Choose the folder; nothing is opened until somebody listens."""
        self._local = LocalWakeups()
        self._folder, self._name = _folder_for(store), name
        self._ears: dict[str, socket.socket | None] = {}  # by kind of topic; None where none can be had
        self._mouth = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        self._peers: dict[str, list[str]] = {}  # by kind of topic
        self._folder_changed_ns = -1
        self._changes: Callable[[], int] | None = None
        self._changes_seen = 0
        self._loop: asyncio.AbstractEventLoop | None = None
        self._look: asyncio.TimerHandle | None = None

    def watch(self, changes: Callable[[], int]) -> None:
        """Name the counter that tells whether another process has committed."""
        self._changes = changes

    def listen(self, topic: str) -> Subscription:
        """Open an ear; the first one of a kind opens a socket."""
        kind = _kind(topic)
        if kind not in self._ears:
            self._open(kind)
        return self._local.listen(topic)

    def send(self, topics: Iterable[str]) -> None:
        """Wake waiters here and elsewhere. Never blocks: a peer that is too busy to hear looks by itself."""
        topics = tuple(topics)
        if not topics:
            return
        self._local.send(topics)
        peers = self._others()
        if not peers:
            return
        by_kind: dict[str, list[str]] = {}
        for topic in topics:
            by_kind.setdefault(_kind(topic), []).append(topic)
        for kind, some in by_kind.items():
            self._notify(peers.get(kind, ()), some)

    def close(self) -> None:
        """Stop listening."""
        if self._look is not None:
            self._look.cancel()
        for kind, ears in self._ears.items():
            if ears is not None:
                if self._loop is not None and not self._loop.is_closed():
                    self._loop.remove_reader(ears)
                ears.close()
                self._path(kind).unlink(missing_ok=True)
        self._ears.clear()
        self._mouth.close()

    def _path(self, kind: str) -> Path:
        return self._folder / f"{self._name}.{kind}.sock"

    def _open(self, kind: str) -> None:
        self._loop = asyncio.get_running_loop()
        if self._look is None:
            self._look_again()
        ears = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_NONBLOCK)
        try:
            ears.bind(str(self._path(kind)))
        except OSError as error:
            ears.close()
            self._ears[kind] = None
            log.warning("can't listen at %s (%s): looking once a second instead", self._path(kind), error)
            return
        self._ears[kind] = ears
        self._loop.add_reader(ears, self._hear, ears)

    def _hear(self, ears: socket.socket) -> None:
        heard: dict[str, None] = {}
        for _ in range(DATAGRAMS_PER_READ):
            try:
                message = ears.recv(DATAGRAM_BYTES + 1)
            except OSError:
                break
            if message == EVERYTHING:
                self._local.wake_all()
            else:
                heard.update(dict.fromkeys(message.decode(errors="replace").split("\n")))
        self._local.send(heard)

    def _look_again(self) -> None:
        """Once a second, cheaply: has anybody committed something whose datagram we may have missed?

        Beats are commits too. They must not make others beat, so workers are not nudged by this.
        """
        assert self._loop is not None
        self._look = self._loop.call_later(MISSED_WAKEUP_SECONDS, self._look_again)
        if self._changes is None:
            return
        with contextlib.suppress(BackendUnavailable):
            seen = self._changes()
            if seen != self._changes_seen:
                self._changes_seen = seen
                self._local.wake_all(but=WORKER)

    def _others(self) -> dict[str, list[str]]:
        """Find the sockets of other processes, by kind; looked up again only when the folder has changed."""
        with contextlib.suppress(OSError):
            changed = self._folder.stat().st_mtime_ns
            if changed != self._folder_changed_ns:
                is_settled = time.time_ns() - changed > FOLDER_TICK_NS
                self._folder_changed_ns = changed if is_settled else -1
                self._peers = {}
                for peer in sorted(self._folder.glob("*.sock")):
                    name, _, kind = peer.name.removesuffix(".sock").rpartition(".")
                    if name != self._name:
                        self._peers.setdefault(kind, []).append(str(peer))
        return self._peers

    def _notify(self, peers: Iterable[str], topics: list[str]) -> None:
        message = "\n".join(topics).encode()
        if len(message) > DATAGRAM_BYTES:
            message = EVERYTHING
        for peer in peers:
            try:
                self._mouth.sendto(message, peer)
            except ConnectionRefusedError:  # its process is gone and left the socket behind
                with contextlib.suppress(OSError):
                    Path(peer).unlink()
            except OSError:
                continue


def _kind(topic: str) -> str:
    return topic.partition(" ")[0]


def _folder_for(store: Path) -> Path:
    """Beside the store; in the temporary folder where that path is too long for a socket."""
    store = store.resolve()  # whatever name a process knows it by
    folder = store.parent / "wake"
    if len(os.fsencode(folder)) + SOCKET_NAME_BYTES > SOCKET_PATH_BYTES:
        digest = hashlib.sha256(os.fsencode(store)).hexdigest()[:16]
        folder = Path(tempfile.gettempdir()) / f"webordinary-{os.getuid()}-{digest}"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if folder.stat().st_uid != os.getuid():
            raise BackendUnavailable(f"{folder} belongs to somebody else; remove it or set another TMPDIR")
    except OSError as error:
        raise BackendUnavailable(f"can't use {folder}: {error.strerror}") from error
    return folder
