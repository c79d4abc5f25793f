"""The way to a repository: its address, what the way needs, and what went wrong on it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import unquote, urlsplit

from webordinary.core.errors import BackendUnavailable, BadInput, NotFound, WebordinaryError
from webordinary.sites.git.process import Ran, shown, without_credentials

_ELSEWHERE = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|[^/]+:")  # a URL, or host:path
_NO_SUCH = re.compile(
    r"repository .*not found|not appear to be a git repository|repository not found", re.IGNORECASE
)
_NO_COMMIT = re.compile(r"couldn't find remote ref HEAD", re.IGNORECASE)
_DAMAGED = re.compile(
    r"corrupt|bad object|missing (blob|tree|commit|object)|unresolved deltas|bad index", re.IGNORECASE
)


class MirrorDamaged(BackendUnavailable):
    """The mirror itself may be broken; it is only a copy, so it can be made anew."""


def checked_address(repository: str) -> str:
    """Refuse an address that leads nowhere; make a path independent of where we are."""
    if not repository:
        raise NotFound("the project has no repository yet: give it one, or let one be made")
    if repository.startswith("-") or not repository.isprintable():
        raise BadInput(
            "the address of the repository can't be one: it begins with a dash or can't be printed"
        )
    if repository.lower().startswith("file://"):
        path = Path(unquote(urlsplit(repository).path))
    elif _ELSEWHERE.match(repository):
        return repository
    else:
        path = Path(repository).absolute()
    if not path.exists():
        raise NotFound(f"there is no repository at {path}")
    return str(path)


def remote_environment(
    mirror: Path, address: str, fetched: Iterable[str], network_environment: Mapping[str, str]
) -> dict[str, str]:
    """What git needs to talk to a repository. Its address may hold a token: it stays out of our files."""
    settings = [("remote.origin.url", address), *(("remote.origin.fetch", ref) for ref in fetched)]
    first = int(network_environment.get("GIT_CONFIG_COUNT", "0"))
    environment = dict(network_environment) | {
        "GIT_DIR": str(mirror),
        "GIT_CONFIG_COUNT": str(first + len(settings)),
    }
    for number, (name, value) in enumerate(settings, first):
        environment |= {f"GIT_CONFIG_KEY_{number}": name, f"GIT_CONFIG_VALUE_{number}": value}
    return environment


def failure(repository: str, ran: Ran) -> WebordinaryError:
    """Say what a failed word with the repository means, without any secret of its address."""
    address, words = without_credentials(repository), _without_secrets(repository, shown(ran.words))
    if _NO_COMMIT.search(ran.words):
        return NotFound(f"the repository {address} is empty: it needs a first commit on its default branch")
    if _NO_SUCH.search(ran.words):
        return NotFound(f"there is no repository at {address}, or we may not see it: {words}")
    if _DAMAGED.search(ran.words):
        return MirrorDamaged(f"our copy of the repository {address} is damaged: {words}")
    return BackendUnavailable(f"the repository {address} can't be used just now: {words}")


def _without_secrets(repository: str, words: str) -> str:
    """Take out the secrets of an address wherever they stand, also alone."""
    if "://" in repository:
        parts = urlsplit(repository)
        for secret in filter(None, (parts.password, unquote(parts.password or ""), parts.username)):
            words = words.replace(secret, "***") if len(secret) > len("git") else words
    return words
