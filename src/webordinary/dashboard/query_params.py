"""What was asked for in an address: read strictly, so that a slip is refused, never guessed at."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Generic, TypeVar

from starlette.requests import Request

from webordinary.core.errors import BadInput, NotFound
from webordinary.core.job import JobId
from webordinary.core.lane import Lane
from webordinary.core.mail import LetterKind
from webordinary.core.text import is_storable

T = TypeVar("T")
E = TypeVar("E", bound=Enum)

PAGE, PAGE_MAX = 50, 200
NUMBER_DIGITS_MAX = 12
WAIT_SECONDS_MAX = 20
CURSOR_CHARACTERS = 2_000


@dataclass(frozen=True, slots=True)
class ResultPage(Generic[T]):
    """Some items, and where the next page begins; None: there is none."""

    items: list[T]
    next: str | None


class QueryParams:
    """The query of an address. A name that means nothing here is refused."""

    def __init__(self, request: Request, *names: str) -> None:
        """Take these names and no others, each once."""
        self._given: dict[str, str] = {}
        for name, value in request.query_params.multi_items():
            if name not in names:
                known = ", ".join(names) if names else "there are none"
                raise BadInput(f"{name!r} means nothing here; what can be asked for: {known}")
            if name in self._given:
                raise BadInput(f"{name!r} is given twice")
            if not is_storable(value) or len(value) > CURSOR_CHARACTERS:
                raise BadInput(f"{name!r} is no text that could be meant")
            self._given[name] = value

    def text(self, name: str) -> str | None:
        """A text; an empty one is none."""
        return self._given.get(name) or None

    def flag(self, name: str) -> bool:
        """Either true or false."""
        return self.choice(name, _Flag) is _Flag.TRUE

    def limit(self) -> int:
        """How many items a page may have."""
        return self.number("limit", least=1, most=PAGE_MAX, default=PAGE)

    def number(self, name: str, *, least: int, most: int, default: int) -> int:
        """A whole number within bounds."""
        given = self._given.get(name)
        if given is None:
            return default
        plain = given.isascii() and given.isdecimal() and len(given) <= NUMBER_DIGITS_MAX
        if not plain or not least <= int(given) <= most:
            raise BadInput(f"{name!r} is a whole number from {least:,} to {most:,}")
        return int(given)

    def choice(self, name: str, kind: type[E]) -> E | None:
        """One of a few words."""
        given = self.text(name)
        if given is None:
            return None
        try:
            return kind(given)
        except ValueError:
            words = ", ".join(str(one.value) for one in kind)
            raise BadInput(f"{name!r} is one of: {words}") from None

    def lane(self, name: str) -> Lane | None:
        """A lane, written PROJECT/USER."""
        given = self.text(name)
        return Lane.parse(given) if given else None

    def job(self, name: str) -> JobId | None:
        """A job's id."""
        given = self.text(name)
        return JobId(given) if given else None

    def letter(self, name: str) -> tuple[str, LetterKind] | None:
        """A letter, written KIND:ABOUT."""
        given = self.text(name)
        if not given:
            return None
        kind, _, about = given.partition(":")
        try:
            return about, LetterKind(kind)
        except ValueError:
            raise BadInput(f"{name!r} names a letter as KIND:ABOUT") from None


class _Flag(Enum):
    TRUE = "true"
    FALSE = "false"


def letter_cursor(about: str, kind: LetterKind) -> str:
    """Name a letter so that `QueryParams.letter` finds it."""
    return f"{kind.value}:{about}"


def lane_of(request: Request) -> Lane:
    """The lane in the path."""
    return Lane(request.path_params["project"], request.path_params["user"])


def text_of(request: Request, name: str) -> str:
    """A text in the path."""
    text = str(request.path_params[name])
    if not is_storable(text):
        raise NotFound(f"there is no such {name}")
    return text


async def body_of(request: Request, *names: str) -> Mapping[str, str]:
    """A JSON object of texts; no body at all is an empty one."""
    raw = await request.body()
    try:
        given = json.loads(raw) if raw.strip() else {}
    except (ValueError, RecursionError):
        raise BadInput("the body is no JSON") from None
    if not isinstance(given, dict) or not all(isinstance(value, str) for value in given.values()):
        raise BadInput("the body is a JSON object of texts")
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise BadInput(
            f"{unknown[0]!r} means nothing here; what can be given: {', '.join(names) or 'nothing'}"
        )
    return given


def page_of(items: list[T], limit: int, cursors: list[str]) -> ResultPage[T]:
    """Cut a page off items of which one more than the limit was asked for."""
    more = len(items) > limit
    return ResultPage(items[:limit], cursors[limit - 1] if more else None)
