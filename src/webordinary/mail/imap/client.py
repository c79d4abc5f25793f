"""`imaplib` with limits: no answer may take for ever, or more memory than the largest mail that is taken.

The standard library's client waits and reads for as long as the server likes, and can't wait for new mail
without losing what is in its buffer. Here it reads through a buffer of its own.
"""

from __future__ import annotations

import contextlib
import imaplib
import select
import socket
import ssl
import time
from typing import Any

from webordinary.intake.limits import MAIL_BYTES

STALL_SECONDS = 30.0  # without a single byte
COMMAND_SECONDS = 300.0  # from a command to the end of its answer: 25 MB over a slow line
ANSWER_BYTES = MAIL_BYTES + 8 * 1024 * 1024  # a mail, or the UIDs of a million mails
CHUNK_BYTES = 64 * 1024
KEEPALIVE = {"TCP_KEEPIDLE": 60, "TCP_KEEPINTVL": 20, "TCP_KEEPCNT": 3}  # a cut line shows in two minutes

imaplib.Commands.setdefault("IDLE", ("SELECTED",))  # known from Python 3.14 on
imaplib.Commands.setdefault("ID", ("AUTH", "SELECTED"))


class ImapClient(imaplib.IMAP4):
    """One connection. Its methods block; `hang_up` may be called from another thread."""

    def __init__(self, host: str, port: int, tls: ssl.SSLContext | None) -> None:
        """Connect, over TLS from the start if there is a context."""
        self._tls = tls
        self._buffer = bytearray()
        self._deadline, self._allowance = time.monotonic() + COMMAND_SECONDS, ANSWER_BYTES
        super().__init__(host, port, STALL_SECONDS)

    # --- the line, as the base class asks for it ----------------------------------------------------------

    def open(self, host: str = "", port: int = 143, timeout: float | None = None) -> None:
        self.host, self.port = host, port
        self.sock = socket.create_connection((host, port), timeout)
        self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):
                self.sock.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        if self._tls is not None:
            self.sock = self._tls.wrap_socket(self.sock, server_hostname=host)

    def send(self, data: bytes) -> None:  # type: ignore[override]
        self._deadline, self._allowance = time.monotonic() + COMMAND_SECONDS, ANSWER_BYTES
        self.sock.sendall(data)

    def readline(self) -> bytes:
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            self._fill()
        return self._taken(end + 1)

    def read(self, size: int) -> bytes:
        if size > self._allowance:
            raise self.abort(f"it announces {size} bytes, which is more than is taken")
        while len(self._buffer) < size:
            self._fill()
        return self._taken(size)

    def shutdown(self) -> None:
        self.hang_up()

    def _fill(self) -> None:
        if time.monotonic() > self._deadline:
            raise self.abort(f"its answer took longer than {COMMAND_SECONDS:.0f} seconds")
        try:
            self._received(self.sock.recv(CHUNK_BYTES))
        except TimeoutError:
            raise self.abort(f"it says nothing for {STALL_SECONDS:.0f} seconds") from None

    def _received(self, chunk: bytes) -> None:
        if not chunk:
            raise self.abort("it closed the connection")
        self._allowance -= len(chunk)
        if self._allowance < 0:
            raise self.abort(f"its answer is larger than {ANSWER_BYTES >> 20} MB")
        self._buffer += chunk

    def _taken(self, size: int) -> bytes:
        taken = bytes(memoryview(self._buffer)[:size])
        del self._buffer[:size]
        return taken

    # --- what the base class has not, or not so -----------------------------------------------------------

    def hang_up(self) -> None:
        """Close the line; a thread that reads from it comes back at once."""
        with contextlib.suppress(OSError):  # it is closed already
            socket.socket.shutdown(self.sock, socket.SHUT_RDWR)
        self.sock.close()

    def encrypt(self, tls: ssl.SSLContext) -> None:
        """Switch to TLS. What was sent in the clear behind the answer could be anybody's: it is not read."""
        status, said = self._simple_command("STARTTLS")
        if status != "OK":
            raise self.error(f"it refuses STARTTLS: {said!r}")
        if self._buffer:
            raise self.abort("it sent more than its answer to STARTTLS in the clear")
        self.sock = tls.wrap_socket(self.sock, server_hostname=self.host)
        self._get_capabilities()

    def sign_in(self, user: str, password: str) -> None:
        """Log in; many servers say only then what they can do."""
        if user.isascii() and password.isascii() and "LOGINDISABLED" not in self.capabilities:
            status, said = self._simple_command("LOGIN", self._quote(user), self._quote(password))
            if status != "OK":
                raise self.error(said[-1])
            self.state = "AUTH"
        else:
            self.authenticate("PLAIN", lambda _: b"\0%b\0%b" % (user.encode(), password.encode()))
        self._get_capabilities()

    def ask(self, name: str, *arguments: str) -> tuple[str, list[Any]]:
        """Send a command and give its answer: whether it was carried out, and what was told."""
        status, said = self._simple_command(name, *arguments)
        answer: tuple[str, list[Any]] = self._untagged_response(status, said, name)
        return answer

    def wait_for_mail(self, seconds: float) -> bool:
        """Wait until the server tells of new mail, at most so long; say whether it did.

        It may have told in its answer to the last command.
        """
        tag = self._command("IDLE")
        while self._get_response() is not None and not self.tagged_commands[tag]:
            pass  # until it says that it idles, or that it does not
        until = time.monotonic() + seconds
        while not self._has_news() and not self.tagged_commands[tag] and self._has_line(until):
            self._get_response()
            self._check_bye()
        has_news = self._has_news()
        if not self.tagged_commands[tag]:
            self.send(b"DONE\r\n")
        status, said = self._command_complete("IDLE", tag)
        if status != "OK":
            raise self.error(said[-1])
        return has_news

    def _has_news(self) -> bool:
        return "EXISTS" in self.untagged_responses or "RECENT" in self.untagged_responses

    def _has_line(self, until: float) -> bool:
        """Wait for a whole line. What arrives may be less: a part of a line, or of a TLS record."""
        self.sock.settimeout(0)
        try:
            while b"\n" not in self._buffer:
                left = until - time.monotonic()
                if left <= 0:
                    return False
                if not (isinstance(self.sock, ssl.SSLSocket) and self.sock.pending()):
                    poll = select.poll()
                    poll.register(self.sock, select.POLLIN)
                    poll.poll(left * 1000)
                try:
                    self._received(self.sock.recv(CHUNK_BYTES))
                except (BlockingIOError, ssl.SSLWantReadError):
                    continue
        finally:
            self.sock.settimeout(STALL_SECONDS)
        return True
