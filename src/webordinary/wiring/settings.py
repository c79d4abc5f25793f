"""Settings: flags before the environment, before the home folder's `webordinary.toml`, before defaults."""

from __future__ import annotations

import difflib
import importlib.util
import math
import os
import shlex
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from webordinary.core.errors import BadInput
from webordinary.core.limits import Limits
from webordinary.wiring import cloud_settings, mail_settings, work_settings
from webordinary.wiring.cloud_settings import CloudSettings
from webordinary.wiring.mail_settings import MailSettings
from webordinary.wiring.work_settings import WorkSettings

FILE_NAME = "webordinary.toml"
PREFIX = "WEBORDINARY_"
SLOTS_MAX = 1000
HANDLERS = ("site", "echo", "sleep", "command")
EMBEDDED, AWS = "embedded", "aws"
BACKENDS = (EMBEDDED, AWS)

LIMIT_NAMES = tuple(one.name for one in fields(Limits))
_WHOLE_LIMITS = {one.name for one in fields(Limits) if one.type == "int"}
_VALUES = ("backend", "slots", "handler", "command")
_NOT_SETTINGS = {  # ours, but no values: where the home is, what a job's program is told, how bugs are shown
    f"{PREFIX}{name}" for name in ("HOME", "JOB", "LANE", "ATTEMPT", "DEBUG")
}
_FOREIGN_PREFIX = f"{PREFIX}TEST_"


@dataclass(frozen=True, slots=True)
class Settings:
    """All that can be set, as values."""

    home: Path
    limits: Limits = field(default_factory=Limits)
    slots: int = 4
    handler: str | None = None  # None: whatever the command takes by default
    command: tuple[str, ...] = ()
    backend: str = EMBEDDED  # where everything is kept: a file of this machine, or the cloud's services
    mail: MailSettings = field(default_factory=MailSettings)
    work: WorkSettings = field(default_factory=WorkSettings)
    cloud: CloudSettings = field(default_factory=CloudSettings)

    @property
    def in_cloud(self) -> bool:
        """Whether everything is kept in the cloud."""
        return self.backend == AWS


def home_folder(flag: str | None, environment: Mapping[str, str] = os.environ) -> Path:
    """Find the home folder: `--home`, then WEBORDINARY_HOME, then the user's data folder."""
    named = flag or environment.get(f"{PREFIX}HOME")
    if named:
        return Path(named).expanduser().absolute()
    data = environment.get("XDG_DATA_HOME") or "~/.local/share"
    return (Path(data).expanduser() / "webordinary").absolute()


def load(home: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Read the settings of a home folder. An unknown or senseless one is refused, never ignored."""
    path = home / FILE_NAME
    table = _table(path)
    mail = _subtable(table, "mail", mail_settings.NAMES, path)
    work = _subtable(table, "work", work_settings.NAMES, path)
    cloud = _subtable(table, "cloud", cloud_settings.NAMES, path)
    given = _from_file(path, table) | _from_environment(environment)
    limits = {name: value for name, value in given.items() if name in LIMIT_NAMES}
    others = {name: value for name, value in given.items() if name in _VALUES}
    return Settings(
        home,
        Limits(**limits),
        **others,
        mail=mail_settings.read_mail(mail, environment),
        work=work_settings.read_work(work, environment),
        cloud=cloud_settings.read_cloud(cloud, environment),
    )


def _table(path: Path) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (FileNotFoundError, NotADirectoryError):  # the latter is for the store to refuse
        return {}
    except OSError as error:
        raise BadInput(f"{path} can't be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise BadInput(f"{path} is not valid TOML: {error}") from error


def _subtable(table: dict[str, Any], name: str, known: Iterable[str], path: Path) -> dict[str, Any]:
    values = table.pop(name, {})
    if not isinstance(values, dict):
        raise BadInput(f"{path}: write {name} as a table, [{name}]")
    _refuse_unknown(values, known, f"{path} has, in [{name}],")
    return values


def _from_file(path: Path, table: dict[str, Any]) -> dict[str, Any]:
    limits = _subtable(table, "limits", LIMIT_NAMES, path)
    _refuse_unknown(table, (*_VALUES, "limits", "mail", "work", "cloud"), f"{path} has")
    return {name: _checked(name, value, f"{path}: {name}") for name, value in {**table, **limits}.items()}


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    known = {f"{PREFIX}{name.upper()}": name for name in (*_VALUES, *LIMIT_NAMES)}
    ours = [name for name in environment if name.startswith(PREFIX) and not name.startswith(_FOREIGN_PREFIX)]
    elsewhere = {f"{mail_settings.PREFIX}{name.upper()}" for name in mail_settings.NAMES}
    elsewhere |= {f"{work_settings.PREFIX}{name.upper()}" for name in work_settings.NAMES}
    elsewhere |= {f"{cloud_settings.PREFIX}{name.upper()}" for name in cloud_settings.NAMES}
    named = [name for name in ours if name not in _NOT_SETTINGS and name not in elsewhere]
    _refuse_unknown(named, known, "the environment has", PREFIX)
    return {known[name]: _checked(known[name], _read(known[name], environment[name]), name) for name in named}


def _read(name: str, text: str) -> object:
    """Read a value from text, as the environment has it; what can't be read is left to the check."""
    try:
        if name == "command":
            return shlex.split(text)
        if name == "slots" or name in _WHOLE_LIMITS:
            return int(text)
        return float(text) if name in LIMIT_NAMES else text
    except ValueError:
        return text


def _checked(name: str, value: object, where: str) -> object:
    match name:
        case "slots":
            return check_slots(value, where)
        case "handler":
            return check_handler(value, where)
        case "backend":
            return _checked_backend(value, where)
        case "command":
            if isinstance(value, list) and value and all(isinstance(word, str) for word in value):
                return tuple(value)
            raise BadInput(f'{where} must be a list of words, such as ["python3", "edit.py"]')
        case _:
            return _checked_limit(name, value, where)


def _checked_limit(name: str, value: object, where: str) -> float | int:
    whole = name in _WHOLE_LIMITS
    if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
        raise BadInput(f"{where} must be a {'whole ' if whole else ''}number, not {value!r}")
    if not math.isfinite(value):
        raise BadInput(f"{where} must be a finite number")
    return value if whole else float(value)


def check_slots(value: object, where: str) -> int:
    """Accept a number of slots that one process can serve."""
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value <= SLOTS_MAX:
        raise BadInput(f"{where} must be a whole number from 1 to {SLOTS_MAX}, not {value!r}")
    return value


def check_handler(value: object, where: str) -> str:
    """Accept the name of a handler."""
    if value in HANDLERS:
        return str(value)
    raise BadInput(f"{where} must be one of {', '.join(HANDLERS)}, not {value!r}")


def _checked_backend(value: object, where: str) -> str:
    if value not in BACKENDS:
        raise BadInput(f"{where} must be one of {', '.join(BACKENDS)}, not {value!r}")
    if value == AWS and importlib.util.find_spec("aiobotocore") is None:
        raise BadInput("the aws backend needs its extra: pip install 'webordinary[aws]'")
    return str(value)


def _refuse_unknown(names: Iterable[str], known: Iterable[str], where: str, prefix: str = "") -> None:
    """Refuse a name nobody knows; people's slips are told from the ends of names, where they differ."""
    ends = {name.removeprefix(prefix): name for name in known}
    for name in names:
        if name.removeprefix(prefix) not in ends:
            close = difflib.get_close_matches(name.removeprefix(prefix), ends, n=2, cutoff=0.6)
            meant = " or ".join(ends[end] for end in close)
            hint = f"Did you mean {meant}?" if close else f"Known are: {', '.join(sorted(ends.values()))}."
            raise BadInput(f"{where} an unknown setting, {name}. {hint}")
