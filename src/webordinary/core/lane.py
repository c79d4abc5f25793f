"""A lane: one project+user. The unit of ordering and of ownership."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from webordinary.core.errors import BadLane

# A lane must fit a cloud queue name of 80 characters: "webordinary-input-" + project + "-" + user + ".fifo".
# (That of its dead letters, "webordinary-dead-" and so on, is shorter.)
QUEUE_NAME_CHARACTERS = 80
_QUEUE_NAME_OVERHEAD = len("webordinary-input-") + len("-") + len(".fifo")
NAME_CHARACTERS_TOGETHER = QUEUE_NAME_CHARACTERS - _QUEUE_NAME_OVERHEAD

# No hyphen in a user: `a-b` + `c` and `a` + `b-c` would share one queue name.
_PROJECT = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*", re.ASCII)
_USER = re.compile(r"[a-z0-9]+", re.ASCII)

# Published sites live at /PROJECT/ and their live twins at /live/PROJECT/.
RESERVED_PROJECTS = frozenset({"live"})


@dataclass(frozen=True, slots=True, order=True)
class Lane:
    """One project+user, e.g. `amelia/scott`."""

    project: str
    user: str
    key: str = field(init=False, repr=False, compare=False)  # in the ownership table

    def __post_init__(self) -> None:
        """Refuse a name that could not be a queue, a folder and a bucket alike."""
        _check("project", self.project, _PROJECT, "lower-case a-z, 0-9 and single hyphens inside")
        _check("user", self.user, _USER, "lower-case a-z and 0-9")
        if self.project in RESERVED_PROJECTS:
            raise BadLane(f"the project name {self.project!r} is reserved")
        if len(self.project) + len(self.user) > NAME_CHARACTERS_TOGETHER:
            raise BadLane(
                f"project and user have {len(self.project) + len(self.user)} characters together; "
                f"at most {NAME_CHARACTERS_TOGETHER} fit the name of the lane's queue"
            )
        object.__setattr__(self, "key", f"{self.project}#{self.user}")

    @classmethod
    def parse(cls, text: str) -> Lane:
        """Read `PROJECT/USER`, as people write it on a command line."""
        project, slash, user = text.partition("/")
        if not slash:
            raise BadLane(f"{text!r} is no lane: write it as PROJECT/USER, for example amelia/scott")
        return cls(project, user)

    @classmethod
    def from_key(cls, key: str) -> Lane:
        """Read `project#user`, as the ownership table writes it."""
        project, _, user = key.partition("#")
        return cls(project, user)

    def __str__(self) -> str:
        """Write the lane as people do."""
        return f"{self.project}/{self.user}"


def _check(what: str, name: str, pattern: re.Pattern[str], rule: str) -> None:
    if not name:
        raise BadLane(f"the {what} name is empty; it needs at least one character")
    if not pattern.fullmatch(name):
        raise BadLane(f"the {what} name {name!r} may only have {rule}")
