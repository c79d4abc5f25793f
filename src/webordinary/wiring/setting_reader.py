"""Reads settings into dataclasses, whose fields say what may be set. One rule for each type, for all of them.

In the file a value has its TOML type. In the environment it is text: `yes`, `true`, `on` and `1` are true and
their opposites false, numbers are decimal and in the unit of the setting's name, lists have commas, and a
program is split as a shell would.
"""

from __future__ import annotations

import difflib
import math
import re
import shlex
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, get_args, get_origin, get_type_hints

from webordinary.core.errors import BadInput

T = TypeVar("T")
PREFIX = "WEBORDINARY_"
BOOLEANS = {"true": True, "yes": True, "on": True, "1": True}
BOOLEANS |= {"false": False, "no": False, "off": False, "0": False}
CLOSE_ENOUGH = 0.6

# --- what a field may add to its type -------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Within:
    """A number has bounds."""

    least: float = 0
    most: float = math.inf

    def __str__(self) -> str:
        """Say it behind "a number"."""
        if self.most == math.inf:
            return f" of at least {self.least:g}" if self.least else ""
        return f" from {self.least:g} to {self.most:g}"


@dataclass(frozen=True, slots=True)
class OneOf:
    """A text is one of a few."""

    choices: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Like:
    """A text that is not empty has a form."""

    pattern: re.Pattern[str]
    example: str


@dataclass(frozen=True, slots=True)
class Variable:
    """Other programs' environment variables that mean the same; an empty one means nothing."""

    names: tuple[str, ...]


class ProgramWords:
    """A list of words is a program and its arguments."""


POSITIVE = Within(least=math.ulp(0.0))
PORT = Within(most=65_535)
URL = Like(re.compile(r"https?://[^\s/:]+(:(?!0+\b)\d{1,5})?(/\S*)?"), "https://example.com")


@dataclass(frozen=True, slots=True)
class Setting:
    """One value that can be set."""

    table: str  # of the file; "" is the top
    name: str
    kind: object
    rules: tuple[object, ...]
    default: object
    is_secret: bool
    variables: tuple[str, ...]  # the last one that is set counts

    def rule(self, kind: type[T]) -> T | None:
        """What the field says about this, if anything."""
        return next((rule for rule in self.rules if isinstance(rule, kind)), None)

    @property
    def allowed(self) -> str:
        """What it must be, in words."""
        if (one_of := self.rule(OneOf)) is not None:
            return f"one of {', '.join(one_of.choices)}"
        if (like := self.rule(Like)) is not None:
            return f"a text like {like.example}"
        if self.kind in (int, float):
            number = "a whole number" if self.kind is int else "a number"
            within = self.rule(Within) or Within()
            return f"{number} above 0" if within is POSITIVE else f"{number}{within}"
        if self.kind is bool:
            return "true or false"
        if self.kind is str:
            return "a text"
        return (
            'a list of words, such as ["python3", "edit.py"]'
            if self.rule(ProgramWords)
            else "a list of texts"
        )

    def from_text(self, text: str, where: str) -> object:
        """Read a value of the environment or of a flag."""
        try:
            if self.kind is bool:
                return BOOLEANS[text.strip().lower()]
            if self.kind is int or self.kind is float:
                return self.checked(self.kind(text), where)
            if self.kind is str:
                return self.checked(text, where)
            items = shlex.split(text) if self.rule(ProgramWords) else [one.strip() for one in text.split(",")]
        except (ValueError, KeyError):
            raise self._refused(text, where) from None
        return self.checked([item for item in items if item], where)

    def checked(self, value: object, where: str) -> object:
        """Accept a value of the right type and size."""
        wanted = list if get_origin(self.kind) is tuple else self.kind
        if wanted is list and isinstance(value, str) and not self.rule(ProgramWords):
            return self.from_text(value, where)  # one of a list is written as a text all the time
        is_number = wanted is float and type(value) is int
        if (type(value) is not wanted and not is_number) or not self._fits(value):
            raise self._refused(value, where)
        if isinstance(value, list):
            return tuple(value)
        return float(value) if isinstance(value, int) and wanted is float else value

    def _fits(self, value: object) -> bool:
        within, one_of, like = self.rule(Within) or Within(), self.rule(OneOf), self.rule(Like)
        if isinstance(value, list):
            return all(isinstance(item, str) for item in value) and bool(value or not self.rule(ProgramWords))
        if isinstance(value, int | float):
            return math.isfinite(value) and within.least <= value <= within.most
        if one_of is not None:
            return value in one_of.choices
        return like is None or not value or like.pattern.fullmatch(str(value)) is not None

    def _refused(self, value: object, where: str) -> BadInput:
        found = "" if self.is_secret else f", not {value!r}"
        return BadInput(f"{where} must be {self.allowed}{found}")


def settings_of(kind: type, table: str = "", prefix: str = "") -> Iterator[Setting]:
    """Every value of a dataclass that can be set, in order. What is a dataclass itself is somebody else's."""
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        hint = hints[one.name]
        hint, *rules = get_args(hint) if get_origin(hint) is Annotated else (hint,)
        if isinstance(hint, UnionType):  # with None: as long as nobody chose
            hint = get_args(hint)[0]
        if is_dataclass(hint) or one.default is MISSING:
            continue
        others = next((rule.names for rule in rules if isinstance(rule, Variable)), ())
        variables = (*others, f"{PREFIX}{prefix}{one.name.upper()}")
        yield Setting(table, one.name, hint, tuple(rules), one.default, not one.repr, variables)


# --- where values are -----------------------------------------------------------------------------


def read_table(path: Path) -> dict[str, Any]:
    """Read the file; none at all is an empty one."""
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):  # the latter is for the store to refuse
        return {}
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not valid TOML: {error}") from error


def given(
    known: Iterable[Setting], file: Mapping[str, Any], environment: Mapping[str, str], path: Path
) -> dict[str, Any]:
    """The values of these settings that somebody gave, by name; the environment goes before the file."""
    values: dict[str, Any] = {}
    for one in known:
        table = file.get(one.table, {}) if one.table else file
        if one.name in table:
            place = f"[{one.table}] {one.name}" if one.table else one.name
            values[one.name] = one.checked(table[one.name], f"{path}: {place}")
        for variable in one.variables:
            text = environment.get(variable)
            if text or (text is not None and variable.startswith(PREFIX)):
                values[one.name] = one.from_text(text, variable)
    return values


def refuse_unknown(
    known: Iterable[Setting], file: Mapping[str, Any], environment: Iterable[str], path: Path
) -> None:
    """Refuse what means nothing, in the file and among the variables that begin as ours do."""
    tables: dict[str, list[str]] = {}
    for one in known:
        tables.setdefault(one.table, []).append(one.name)
    named = [table for table in tables if table]
    _refuse_unknown(file, [*tables[""], *named], f"{path} has")
    for name in named:
        if not isinstance(values := file.get(name, {}), Mapping):
            raise BadInput(f"{path}: write {name} as a table, [{name}]")
        _refuse_unknown(values, tables[name], f"{path} has, in [{name}],")
    variables = [name for one in known for name in one.variables if name.startswith(PREFIX)]
    _refuse_unknown(environment, variables, "the environment has", PREFIX)


def _refuse_unknown(names: Iterable[str], known: Iterable[str], where: str, prefix: str = "") -> None:
    """Compare the ends of names, where they differ."""
    ends = {name.removeprefix(prefix): name for name in known}
    for name in names:
        if (end := name.removeprefix(prefix)) not in ends:
            close = difflib.get_close_matches(end, ends, n=2, cutoff=CLOSE_ENOUGH)
            meant = " or ".join(ends[one] for one in close)
            hint = f"Did you mean {meant}?" if close else f"Known are: {', '.join(sorted(ends.values()))}."
            raise BadInput(f"{where} an unknown setting, {name}. {hint}")
