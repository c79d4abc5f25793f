"""A mirror of a project's repository: bare, ours alone, and never in an agent's sight."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

from webordinary.core.errors import BackendUnavailable, BadInput, NotFound, WebordinaryError
from webordinary.ports.clock import Clock
from webordinary.sites.git.conventions import EDIT, FORMAT, MAIN_SEEN, NAME, Kept, Names, author_line, seen
from webordinary.sites.git.process import (
    NETWORK_SECONDS,
    OUTPUT_BYTES,
    GitResult,
    in_thread,
    run_git,
    shown,
    without_credentials,
)
from webordinary.sites.git.sanitize_tree import remove

# Highest of all attributes: a tree's own ones change no byte, name no filter, and hide no conflict marker.
ATTRIBUTES = "* -text -filter -ident !working-tree-encoding !conflict-marker-size\n"
_FENCE = re.compile(rb"fence (\d{1,18})(?: of ([0-9a-z]+))?", re.ASCII)


@dataclass(frozen=True, slots=True)
class KnownRefs:
    """Where the repository's refs were when we last looked; "" for one that is not there."""

    main: str
    edit: str
    session: str
    fence_commit: str
    fence: int  # of the lane; 0 if nobody ever held it

    @property
    def previewed(self) -> str:
        """What is previewed: the main line until something was edited."""
        return self.edit or self.main


@dataclass(frozen=True, slots=True)
class Update:
    """A ref that shall move, from exactly where we believe it is; None: wherever it is."""

    ref: str
    new: str
    old: str | None


@dataclass(frozen=True, slots=True)
class Merged:
    """A merge: its tree, and the files in which both sides changed the same lines."""

    tree: str
    conflicts: tuple[bytes, ...] = ()


class Mirror:
    """Git on one mirror. Who calls it holds the project's lock."""

    def __init__(
        self,
        folder: Path,
        repository: str,
        clock: Clock,
        *,
        network_environment: Mapping[str, str],
        held: Sequence[int] = (),
        store: str = "",
    ) -> None:
        """Work on the mirror in this folder, of the repository at this path or URL, for a store's lanes."""
        self._store = store
        self.folder, self._repository, self._clock = folder, repository, clock
        self._network_environment, self._held = network_environment, held

    async def prepare(self) -> None:
        """Make the mirror unless it is there; take away what a killed process left in it."""
        if self.folder.exists():
            await in_thread(_remove_locks, self.folder)
            await self.git("gc", "--auto", "--quiet", settings={"gc.auto": "6700"})
            return
        unfinished = self.folder.with_name("unfinished.git")
        remove(unfinished)
        unfinished.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        arguments = ("init", "--quiet", "--bare", "--template=", str(unfinished))
        ran = await run_git(*arguments, environment={}, folder=unfinished.parent, held=self._held)
        if ran.code:
            raise BackendUnavailable(f"a mirror can't be made: {shown(ran.words)}")
        (unfinished / "info").mkdir(exist_ok=True)
        (unfinished / "info" / "attributes").write_text(ATTRIBUTES)
        unfinished.rename(self.folder)

    # --- commands -------------------------------------------------------------------------------------

    async def run(
        self,
        *arguments: str,
        stdin: bytes = b"",
        limit: int = OUTPUT_BYTES,
        tree: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> GitResult:
        """Run a command on the mirror, and on a tree if one is given; see how it ends."""
        words = [word for name, value in (settings or {}).items() for word in ("-c", f"{name}={value}")]
        return await run_git(
            *words,
            *arguments,
            environment={"GIT_DIR": str(self.folder)} | dict(tree or {}),
            folder=Path(tree["GIT_WORK_TREE"]) if tree else self.folder,
            stdin=stdin,
            limit=limit,
            held=self._held,
        )

    async def git(
        self,
        *arguments: str,
        stdin: bytes = b"",
        tree: Mapping[str, str] | None = None,
        settings: Mapping[str, str] | None = None,
    ) -> bytes:
        """Run a command that must succeed."""
        ran = await self.run(*arguments, stdin=stdin, tree=tree, settings=settings)
        if ran.code or ran.cut:
            raise BackendUnavailable(f"git {arguments[0]} failed: {shown(ran.words)}")
        return ran.out

    async def line(self, *arguments: str, stdin: bytes = b"") -> str:
        """Run a command that says one line."""
        return (await self.git(*arguments, stdin=stdin)).decode().strip()

    async def _remote(self, *arguments: str, fetched: Iterable[str] = ()) -> GitResult:
        """Run a command that talks to the repository; it never touches a tree."""
        return await run_git(
            *arguments,
            environment=remote_environment(
                self.folder, checked_address(self._repository), fetched, self._network_environment
            ),
            folder=self.folder,
            seconds=NETWORK_SECONDS,
            held=self._held,
        )

    # --- the repository -------------------------------------------------------------------------------

    async def fetch(self, refs: Iterable[str]) -> None:
        """Bring what we know of the repository up to date."""
        options = ("--quiet", "--no-tags", "--prune", "--no-write-fetch-head", "--no-show-forced-updates")
        ran = await self._remote("fetch", *options, "origin", fetched=refs)
        if ran.code:
            raise failure(self._repository, ran)

    async def seen(self, names: Names) -> KnownRefs:
        """Tell where the refs are that matter to a job, as last seen."""
        refs = (seen(EDIT), seen(names.session), seen(names.fence))
        out = await self.git("for-each-ref", "--format=%(refname) %(objectname) %(subject)", MAIN_SEEN, *refs)
        found = {line.split(b" ", 2)[0].decode(): line.split(b" ", 2)[1:] for line in out.splitlines()}
        main, edit, session, fence = (
            found[ref][0].decode() if ref in found else "" for ref in (MAIN_SEEN, *refs)
        )
        number = self._fence_in(found[seen(names.fence)][1]) if fence else 0
        return KnownRefs(main, edit, session, fence, number)

    def _fence_in(self, subject: bytes) -> int:
        """Read a fence. Another store's says nothing about ours: fences are counted from one in each."""
        found = _FENCE.fullmatch(subject)
        return int(found[1]) if found and found[2] in (None, self._store.encode()) else 0

    async def push(self, updates: Sequence[Update], fetched: Iterable[str]) -> str:
        """Move all of these refs or none; "" if they moved, else why not. The repository itself compares."""
        leases = [
            f"--force-with-lease={update.ref}:{update.old}" for update in updates if update.old is not None
        ]
        words = [f"{'+' if update.old is None else ''}{update.new}:{update.ref}" for update in updates]
        ran = await self._remote(
            "push", "--atomic", "--porcelain", "--no-verify", *leases, "origin", *words, fetched=fetched
        )
        if ran.code == 0:
            return ""
        refused = [line for line in ran.out.decode(errors="replace").splitlines() if line.startswith("!")]
        if not refused:
            raise failure(self._repository, ran)
        reasons = dict.fromkeys(line.split("\t")[-1] for line in refused)
        return shown(f"{' '.join(reasons)}\n{ran.words}")

    async def main_branch(self) -> str:
        """Name the repository's default branch."""
        ran = await self._remote("ls-remote", "--symref", "origin", "HEAD")
        if ran.code:
            raise failure(self._repository, ran)
        found = re.match(rb"ref: (refs/heads/\S+)\tHEAD\n", ran.out)
        if not found:
            raise BackendUnavailable("the repository does not say which branch is its default one")
        return found[1].decode()

    # --- commits --------------------------------------------------------------------------------------

    async def make_commit(self, tree: str, parents: Sequence[str], message: str, sender: str = NAME) -> str:
        """Make a commit; nothing points at it yet."""
        now = self._clock.now()
        lines = [f"tree {tree}", *(f"parent {parent}" for parent in parents)]
        lines += [f"author {author_line(sender, now)}", f"committer {author_line(NAME, now)}", "", message]
        return await self.line(
            "hash-object", "-t", "commit", "-w", "--stdin", stdin="\n".join(lines).encode()
        )

    async def make_fence(self, fence: int) -> str:
        """Make a commit that holds nothing but a fence, unlike any other."""
        subject = f"fence {fence} of {self._store}" if self._store else f"fence {fence}"
        return await self.make_commit(await self.line("mktree"), (), f"{subject}\n\n{self._clock.unique()}\n")

    async def trees(self, *commits: str) -> list[str]:
        """Name the trees of commits."""
        return (await self.line("rev-parse", *(f"{commit}^{{tree}}" for commit in commits))).split()

    async def meeting(self, one: str, other: str) -> str:
        """Name the commit where two lines of history part; "" if they have nothing in common."""
        if one == other:
            return one
        ran = await self.run("merge-base", one, other)
        if ran.code not in (0, 1):
            raise BackendUnavailable(f"git merge-base failed: {shown(ran.words)}")
        return ran.out.decode().strip()

    async def merge(self, ours: str, theirs: str) -> Merged:
        """Merge two commits, in no tree."""
        options = ("--write-tree", "-z", "--name-only", "--no-messages", "--allow-unrelated-histories")
        ran = await self.run("merge-tree", *options, ours, theirs)
        if ran.code not in (0, 1):
            raise BackendUnavailable(f"git merge-tree failed: {shown(ran.words)}")
        tree, *conflicts = ran.out.rstrip(b"\0\n").split(b"\0")
        return Merged(tree.decode().strip(), tuple(dict.fromkeys(conflicts)) if ran.code else ())

    async def log(self, commit: str, most: int, *options: str) -> list[Kept]:
        """The history that leads to a commit, newest first."""
        out = await self.git("log", "-z", f"--max-count={most}", f"--format={FORMAT}", *options, commit)
        return [Kept.read(text) for text in out.decode(errors="replace").rstrip("\0").split("\0") if text]


def _remove_locks(folder: Path) -> None:
    """A lock in our own mirror, with nobody at work in it, is one that a killed command left."""
    for lock in folder.rglob("*.lock"):
        lock.unlink(missing_ok=True)


# --- the way to a repository, and what went wrong on it --------------------------------------------------

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


def failure(repository: str, ran: GitResult) -> WebordinaryError:
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
