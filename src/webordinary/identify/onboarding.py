"""Who may edit what: letting somebody in, and out again. Nothing that is there is changed by the way."""

from __future__ import annotations

import re
import shlex
import unicodedata
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from urllib.parse import urlsplit

from webordinary.core.errors import BadInput, NotAllowed, NotFound
from webordinary.core.job import Arrival
from webordinary.core.lane import Lane
from webordinary.core.site import Member, Project
from webordinary.core.text import is_storable
from webordinary.ports.directory import Directory
from webordinary.ports.ledger import Ledger

REPOSITORY_CHARACTERS = 1000
BUILD_CHARACTERS = 1000
SCHEMES = ("https", "http", "ssh", "git", "file")
_SECRET_IN_USER = ("https", "http")  # there even a bare user name may be a token
_SCP_LIKE = re.compile(r"[\w.-]+@[\w.-]+:\S+", re.ASCII)  # git@example.org:site.git
_HELPER = re.compile(r"[\w+.-]+::", re.ASCII)  # git would run a program of that name
_LANES_PER_LOOK = 500


@dataclass(frozen=True, slots=True)
class Wanted:
    """Who shall edit which project, from which address. What is None stays as it is, or is the default."""

    lane: Lane
    address: str
    arrival: Arrival | None = None
    repository: str | None = None
    build: str | None = None
    output: str | None = None
    change: bool = False


@dataclass(frozen=True, slots=True)
class Onboarded:
    """How things stand now, and what of it is new."""

    project: Project
    member: Member
    new_project: bool
    new_member: bool
    changed: tuple[str, ...]  # of a project that was there: "policy", "repository", "build", "output"
    elsewhere: tuple[Lane, ...]  # other projects that the address may edit


async def onboard(
    wanted: Wanted, directory: Directory, prepare: Callable[[], Awaitable[None]] | None = None
) -> Onboarded:
    """Let an address edit a project. Repeating it, or going on after a crash, is safe.

    What must be there before anybody writes is made by `prepare`, once nothing speaks against it: if that
    fails, nobody was let in.
    """
    member = Member(wanted.lane, canonical_address(wanted.address))
    if wanted.repository is not None:
        check_repository(wanted.repository)
    check_build(wanted.build or "", wanted.output or "")
    known = await directory.project(wanted.lane.project)
    project = _project(wanted, known)
    changed = _changes(project, known) if known else ()
    if changed and not wanted.change:
        raise NotAllowed(_conflict(project, known, changed[0]))
    before = await directory.lanes_of(member.address)
    _refuse_another_user(member, [lane for lane in before if lane.project == member.lane.project])
    if prepare is not None:
        await prepare()
    new_project = await directory.add_project(project, change=bool(changed))
    taken = await directory.add_member(member)
    _refuse_another_user(member, [taken] if taken else [])
    elsewhere = tuple(lane for lane in before if lane.project != member.lane.project)
    return Onboarded(project, member, new_project, taken is None, changed, elsewhere)


def _project(wanted: Wanted, known: Project | None) -> Project:
    before = known or Project(wanted.lane.project)
    return replace(
        before,
        arrival=before.arrival if wanted.arrival is None else wanted.arrival,
        repository=before.repository if wanted.repository is None else wanted.repository,
        build=before.build if wanted.build is None else wanted.build,
        output=before.output if wanted.output is None else wanted.output,
    )


def _changes(project: Project, known: Project) -> tuple[str, ...]:
    changed = {
        "policy": project.arrival is not known.arrival,
        "repository": project.repository != known.repository,
        "build": project.build != known.build,
        "output": project.output != known.output,
    }
    return tuple(what for what, is_so in changed.items() if is_so)


def _conflict(project: Project, known: Project | None, what: str) -> str:
    assert known is not None
    flag, before, after = {
        "policy": ("--policy", known.arrival.value, project.arrival.value),
        "repository": ("--repo", known.repository or "one of its own", project.repository),
        "build": ("--build", known.build or "none", project.build or "none"),
        "output": ("--output", known.output or "all of it", project.output or "all of it"),
    }[what]
    return (
        f"{project.name} is there already and its {what} is {before}, not {after}. Nothing was changed: "
        f"leave {flag} out to keep it, or add --change to change it for everybody"
    )


def _refuse_another_user(member: Member, taken: list[Lane]) -> None:
    for lane in taken:
        if lane != member.lane:
            raise NotAllowed(
                f"{member.address} writes to {lane.project} as {lane} already, and can't be two users of one "
                f"project. To move it: `webordinary offboard {lane} --sender {member.address}` first"
            )


def check_build(build: str, output: str) -> None:
    """Refuse a build that could not be run, and an output that is not inside the site."""
    try:
        shlex.split(build)
    except ValueError as error:
        raise BadInput(f"the build command can't be read: {error}") from error
    parts = PurePosixPath(output).parts
    if len(build) > BUILD_CHARACTERS or not build.isprintable() or not output.isprintable():
        raise BadInput(f"a build is one line of at most {BUILD_CHARACTERS} characters")
    if output.startswith("/") or ".." in parts or any(part.startswith(".") for part in parts):
        raise BadInput(f"{output!r} can't be published: name a folder inside the site, such as public")


def check_repository(repository: str) -> None:
    """Refuse what git could take for an option or a program, and secrets that would be shown to people."""
    if not repository.strip() or len(repository) > REPOSITORY_CHARACTERS:
        raise BadInput(f"a repository is a path or URL of 1 to {REPOSITORY_CHARACTERS} characters")
    if not repository.isprintable() or not is_storable(repository):
        raise BadInput("the repository has a character that can't be seen")
    if repository.startswith("-") or _HELPER.match(repository):
        raise BadInput(f"{repository!r} is no repository: git would take it for an option or a program")
    if "://" in repository:
        _check_url(repository)


def _check_url(repository: str) -> None:
    try:
        parts = urlsplit(repository)
        host, user, password = parts.hostname, parts.username, parts.password
    except ValueError as error:
        raise BadInput(f"the repository is no URL: {error}") from error
    if parts.scheme not in SCHEMES or not (host or parts.scheme == "file"):
        known = ", ".join(f"{scheme}://" for scheme in SCHEMES)
        raise BadInput(f"that is no repository's URL we could use; known are {known} and a host, or a path")
    if password or (user and parts.scheme in _SECRET_IN_USER):
        raise BadInput(
            f"leave the credentials out of the repository's URL ({parts.scheme}://{host}...): it is shown to "
            "people. The worker's own git credentials are used"
        )


def is_url(repository: str) -> bool:
    """Tell a URL, or what ssh knows, from a path on this machine."""
    return "://" in repository or _SCP_LIKE.fullmatch(repository) is not None


# --- out again --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Leaving:
    """Who shall no longer edit: a whole project, one of its users, or one address."""

    project: str
    user: str | None = None
    address: str | None = None
    force: bool = False


@dataclass(frozen=True, slots=True)
class Offboarded:
    """What was taken away, and what is left."""

    removed: tuple[Member, ...]
    removed_project: bool
    members_left: int
    open_jobs: int  # they go on: nobody stops them


async def offboard(leaving: Leaving, directory: Directory, ledger: Ledger) -> Offboarded:
    """Take the right to edit away. Jobs and mail stay as history."""
    if await directory.project(leaving.project) is None:
        raise NotFound(f"there is no project {leaving.project}")
    members = await directory.members(leaving.project)
    whole_project = leaving.user is None and leaving.address is None
    removed = tuple(members) if whole_project else _leaving_members(leaving, members)
    users = None if whole_project else {member.lane.user for member in removed}
    open_jobs = await _open_jobs(ledger, leaving.project, users)
    if open_jobs and not leaving.force:
        raise NotAllowed(
            f"{open_jobs} job{'s are' if open_jobs > 1 else ' is'} still open there; nothing was changed. "
            "Wait for the end of that work, or add --force: it is then carried out all the same"
        )
    if whole_project:
        await directory.remove_project(leaving.project)
    for lane in {member.lane for member in removed}:
        address = removed[0].address if leaving.address is not None else None
        await directory.remove_member(lane, address)
    return Offboarded(removed, whole_project, len(members) - len(removed), open_jobs)


def _leaving_members(leaving: Leaving, members: list[Member]) -> tuple[Member, ...]:
    address = canonical_address(leaving.address) if leaving.address is not None else None
    found = tuple(
        member
        for member in members
        if leaving.user in (None, member.lane.user) and address in (None, member.address)
    )
    if not found:
        where = f"{leaving.project}/{leaving.user}" if leaving.user else leaving.project
        raise NotFound(f"{address} does not write to {where}" if address else f"nobody writes to {where}")
    return found


async def _open_jobs(ledger: Ledger, project: str, users: set[str] | None) -> int:
    """Count the jobs of a project (or of some of its users) that have not ended."""
    count, after = 0, None
    while page := await ledger.lanes(limit=_LANES_PER_LOOK, after=after, busy=True):
        count += sum(
            view.depth
            for view in page
            if view.lane.project == project and (users is None or view.lane.user in users)
        )
        after = page[-1].lane
    return count


# --- addresses: plain ones in one spelling, so that no two of them look alike ---------------------------

ADDRESS_CHARACTERS = 254
LOCAL_CHARACTERS = 64
LOCAL_DOMAIN = "localhost"  # the only one without a dot: a try-out on one machine

_ATOM = r"[a-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LOCAL = re.compile(rf"{_ATOM}(?:\.{_ATOM})*", re.ASCII)
_LABEL = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?", re.ASCII)
_ENCODED = "xn--"
_LATIN = frozenset("abcdefghijklmnopqrstuvwxyz")
_LAST_EUROPEAN = "\u017f"  # beyond it, marks are small enough to be overlooked
_LATIN_OF_THEIR_OWN = frozenset("æøœłđðþħ")  # letters that are no a-z with a mark, and look like nothing else


def canonical_address(text: str) -> str:
    """Give an address in its one spelling; refuse what is none, or may look like another one."""
    written = text.strip(" ")
    _refuse_invisible(written)
    if written.count("@") != 1 or any(mark in written for mark in '<>"(), '):
        raise BadInput(f"{text!r} is no address: write only the address, such as scott@example.org")
    local, _, domain = written.partition("@")
    address = f"{_canonical_local(local, text)}@{_canonical_domain(domain, text)}"
    if len(address) > ADDRESS_CHARACTERS:
        raise BadInput(
            f"the address has {len(address)} characters; at most {ADDRESS_CHARACTERS} are possible"
        )
    return address


def _refuse_invisible(text: str) -> None:
    for character in text:
        if not character.isprintable():
            raise BadInput(f"the address {text!r} has a character that can't be seen ({_name(character)})")


def _canonical_local(local: str, whole: str) -> str:
    if not local.isascii():
        strange = next(character for character in local if not character.isascii())
        raise BadInput(
            f"the address {whole!r} has {strange!r} ({_name(strange)}) before the @; "
            "we only know addresses with plain letters there"
        )
    lower = local.lower()
    if not _LOCAL.fullmatch(lower) or len(lower) > LOCAL_CHARACTERS:
        raise BadInput(f"{whole!r} is no address: {local!r} can't stand before the @")
    return lower


def _canonical_domain(domain: str, whole: str) -> str:
    labels = [_canonical_label(label, domain, whole) for label in domain.split(".")]
    if labels == [LOCAL_DOMAIN]:
        return LOCAL_DOMAIN
    if len(labels) == 1 or labels[-1].isdigit():
        raise BadInput(f"{whole!r} is no address: {domain!r} is no domain, such as example.org")
    return ".".join(labels)


def _canonical_label(label: str, domain: str, whole: str) -> str:
    ascii_label = label.lower() if label.isascii() else _encoded(label, domain, whole)
    if not _LABEL.fullmatch(ascii_label):
        raise BadInput(f"{whole!r} is no address: {domain!r} is no domain, such as example.org")
    if ascii_label.startswith(_ENCODED) and _decoded(ascii_label) is None:
        raise BadInput(f"{whole!r} is no address: {ascii_label!r} is the ASCII form of nothing")
    return ascii_label


def _encoded(label: str, domain: str, whole: str) -> str:
    """Turn a label into its ASCII form, if all of its letters are Latin ones that people can tell apart."""
    lower = label.lower()
    strange = next((character for character in label + lower if not _is_clearly_latin(character)), None)
    encoded = _ascii_form(lower)
    if strange is None and encoded is not None and _decoded(encoded) == lower:
        return encoded
    what = f"{strange!r} ({_name(strange)})" if strange else repr(label)
    meant = _ascii_form(domain)
    hint = f". If it is meant, write the domain in its ASCII form, {meant}" if meant else ""
    raise BadInput(f"the domain of {whole!r} has {what}, which may look like something else{hint}")


def _is_clearly_latin(character: str) -> bool:
    """Whether it is a letter of western or central Europe: a-z with a mark, or one of a few others."""
    if character.isascii() or character.lower() in _LATIN_OF_THEIR_OWN:
        return True
    is_composed = unicodedata.normalize("NFC", character) == character
    base = unicodedata.normalize("NFD", character)[0]
    return is_composed and character <= _LAST_EUROPEAN and base.lower() in _LATIN


def _ascii_form(text: str) -> str | None:
    try:
        return text.encode("idna").decode()
    except UnicodeError:
        return None


def _decoded(label: str) -> str | None:
    try:
        return label.encode().decode("idna")
    except UnicodeError:
        return None


def _name(character: str) -> str:
    return unicodedata.name(character, f"U+{ord(character):04X}")
