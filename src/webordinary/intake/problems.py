"""The one way out of reading a mail that can't be read. It never leaves this folder."""

from __future__ import annotations


class CannotRead(Exception):
    """What is wrong with a mail, in words that go on after "I could not read your mail, because"."""

    def __init__(self, reason: str) -> None:
        """Say why, for the mail's sender."""
        super().__init__(reason)
        self.reason = reason
