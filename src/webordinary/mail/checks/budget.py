"""A limit on what one mail may ask of the DNS: its sender writes names, and runs servers that may be slow."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from webordinary.ports.resolver import LookupFailed, Resolver

TEXT_BYTES_MAX = 4096  # of one TXT record; longer ones make libraries work hard, and nobody honest needs them
ANSWERS_MAX = 50

T = TypeVar("T")


class Budget:
    """A resolver for one mail: so many lookups, until then."""

    def __init__(
        self, resolver: Resolver, *, lookups: int, until: float, monotonic: Callable[[], float]
    ) -> None:
        """Pass lookups on to this resolver."""
        self._resolver, self._left, self._until, self._monotonic = resolver, lookups, until, monotonic

    def txt(self, name: str) -> list[bytes]:
        """See `Resolver.txt`."""
        return [text for text in self._ask(self._resolver.txt, name) if len(text) <= TEXT_BYTES_MAX]

    def a(self, name: str) -> list[str]:
        """See `Resolver.a`."""
        return self._ask(self._resolver.a, name)

    def aaaa(self, name: str) -> list[str]:
        """See `Resolver.aaaa`."""
        return self._ask(self._resolver.aaaa, name)

    def mx(self, name: str) -> list[tuple[int, str]]:
        """See `Resolver.mx`."""
        return self._ask(self._resolver.mx, name)

    def ptr(self, name: str) -> list[str]:
        """See `Resolver.ptr`."""
        return self._ask(self._resolver.ptr, name)

    def _ask(self, question: Callable[[str], list[T]], name: str) -> list[T]:
        self._left -= 1
        if self._left < 0 or self._monotonic() > self._until:
            raise LookupFailed("one mail may not ask more")
        return question(name)[:ANSWERS_MAX]
