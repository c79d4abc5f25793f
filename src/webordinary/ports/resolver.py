"""Names asked of the DNS. Not async: mail libraries call it in the middle of their work, on a thread."""

from __future__ import annotations

from typing import Protocol


class LookupFailed(Exception):
    """Nobody knows just now: no answer in time, or servers that fail. Asking again later may help."""


class Resolver(Protocol):
    """Answers about one name. A name that isn't there, or can't be one, has no answers; it is no error.

    A name is text with dots and nothing else is special in it: no escapes, no search list, no IDNA.
    """

    def txt(self, name: str) -> list[bytes]:
        """Give its texts, each put together from its strings."""
        ...

    def a(self, name: str) -> list[str]:
        """Give its IPv4 addresses."""
        ...

    def aaaa(self, name: str) -> list[str]:
        """Give its IPv6 addresses."""
        ...

    def mx(self, name: str) -> list[tuple[int, str]]:
        """Give its mail servers, each with its preference."""
        ...

    def ptr(self, name: str) -> list[str]:
        """Give the names it points to; the name asked ends in `in-addr.arpa` or `ip6.arpa`."""
        ...
