"""The inner end of the way out: runs inside the sandbox, from a loopback port to the model's socket.

`python3 relay.py SOCKET -- command...` runs the command with ANTHROPIC_BASE_URL set, and ends as it ends.
A script by itself, on few modules: it is started anew for every run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import sys
import threading

CHUNK_BYTES = 65_536
PASSED_ON = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def main() -> None:
    """Listen, start the command, relay until it ends."""
    way_out, command = sys.argv[1], sys.argv[3:]
    listener = socket.create_server(("127.0.0.1", 0), backlog=64)
    os.environ["ANTHROPIC_BASE_URL"] = f"http://127.0.0.1:{listener.getsockname()[1]}"
    child = os.fork()
    if child == 0:
        _become(command)
    for number in PASSED_ON:
        signal.signal(number, lambda number, _: os.kill(child, number))
    threading.Thread(target=_accept, args=(listener, way_out), daemon=True).start()
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    os._exit(code if code >= 0 else 128 - code)


def _become(command: list[str]) -> None:
    for number in (signal.SIGPIPE, signal.SIGXFSZ):  # Python ignores them, and the command would inherit it
        signal.signal(number, signal.SIG_DFL)
    try:
        os.execvp(command[0], command)  # noqa: S606 - the command is what this is for
    except OSError as error:
        os.write(2, f"{command[0]}: {error.strerror}\n".encode())
        os._exit(127)


def _accept(listener: socket.socket, way_out: str) -> None:
    while True:
        inner, _ = listener.accept()
        threading.Thread(target=_join, args=(inner, way_out), daemon=True).start()


def _join(inner: socket.socket, way_out: str) -> None:
    """Copy both ways until both are at their end."""
    with inner, socket.socket(socket.AF_UNIX) as outer:
        try:
            outer.connect(way_out)
        except OSError:
            return  # a closed connection says it to the client
        forth = threading.Thread(target=_copy, args=(inner, outer), daemon=True)
        forth.start()
        _copy(outer, inner)
        with contextlib.suppress(OSError):
            inner.shutdown(socket.SHUT_RDWR)  # answered in full: nothing more is asked on this connection
        forth.join()


def _copy(source: socket.socket, target: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(CHUNK_BYTES):
            target.sendall(data)
    with contextlib.suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    main()
