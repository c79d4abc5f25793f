"""A worker that is paused past its lease: another one takes over, and when it wakes nothing of it is seen."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from tests.processes import alive, none_alive, offspring, words_of
from tests.sites.system import Sent, System, git, refs
from tests.waiting import wait_until
from webordinary.core.views import JobView
from webordinary.system import function_pool_child

SETTINGS = """
[limits]
lease_seconds = 2
beat_seconds = 0.4
sweep_seconds = 0.3
retry_first_seconds = 0.1
deliveries_max = 20
"""
HERE = Path(__file__).parent
DELAYS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.25)  # seconds between the agent's last act and the pause
LOCK_SECONDS = 10.0  # a worker that is paused within a lock of moments stops its site until it wakes
QUIET_SECONDS = 0.5  # for whatever a woken worker may still be up to

AGENT = """
. {scripts}/marks.sh
if first ran; then echo stale > stale-$WEBORDINARY_JOB.html; else echo fresh > fresh-$WEBORDINARY_JOB.html; fi
hold agent
"""
MARKS = """
job=${{WEBORDINARY_JOB:-any}}
first() {{ mkdir {marks}/$1-$job 2> /dev/null; }}
# Whoever comes to this point first waits there, if it is the point that is tried.
hold() {{
    if [ -e {marks}/hold-$1 ] && first held-$1; then
        touch {marks}/held; while [ ! -e {marks}/go ]; do sleep 0.02; done
    fi
}}
"""
HOOK = """#!/bin/sh
grep -q refs/heads/ || exit 0
. {scripts}/marks.sh
hold push
"""


@dataclass
class Pool:
    """A system of two workers, and the points at which they can be held."""

    system: System
    folder: Path

    @property
    def marks(self) -> Path:
        return self.folder / "marks"

    def onboard(self, project: str) -> str:
        """A site in a repository with a hook, built by a script; give its owner's address."""
        address = f"{project}@example.com"
        repository = self.repository(project)
        tree = self.folder / f"{project}-first"
        git("clone", "--quiet", str(new_repository(repository)), str(tree), folder=self.folder)
        (tree / "index.html").write_text("<title>Old</title>\n")
        git("add", ".", folder=tree)
        git("commit", "--quiet", "-m", "first", folder=tree)
        git("push", "--quiet", "origin", "main", folder=tree)
        hook = repository / "hooks" / "pre-receive"
        hook.write_text(HOOK.format(scripts=self.folder))
        hook.chmod(0o755)
        build = f"sh {self.folder}/build.sh"
        words = ("--user", "owner", "--sender", address, "--repo", str(repository), "--build", build)
        self.system.said("onboard", project, *words)
        return address

    def repository(self, project: str) -> Path:
        return self.folder / f"{project}.git"

    def owner_of(self, project: str) -> int | None:
        """The worker that holds a project's lane."""
        for worker in self.system.workers():
            if any(lane.project == project for lane in worker.lanes):
                return worker.pid
        return None

    def has_lost(self, worker: int, project: str) -> bool:
        return self.owner_of(project) != worker

    def newest(self, project: str) -> JobView:
        return next(job for job in self.system.jobs() if job.lane.project == project)

    def agent_ran(self, project: str) -> bool:
        """Whether the agent has begun with a project's newest job."""
        return (self.marks / f"ran-{self.newest(project).id}").exists()

    def server_of_newest(self, project: str) -> int:
        """The worker that did a project's newest job."""
        return int(str(self.newest(project).worker).split(".")[1])

    def pause_owner(self, project: str) -> int:
        owner = self.owner_of(project)
        assert owner is not None
        os.kill(owner, signal.SIGSTOP)
        return owner

    def is_answered_meanwhile(self, sent: Sent) -> bool:
        """Wait for the reply while a worker is paused. There is none if that one has a lock."""
        deadline = time.monotonic() + LOCK_SECONDS
        while not self.system.replies(sent) and time.monotonic() < deadline:
            time.sleep(0.02)
        return bool(self.system.replies(sent))

    def seen_of(self, project: str, about: Sent) -> dict[str, object]:
        """All that a stale worker could have an effect on."""
        return {
            "refs": refs(self.repository(project)),
            "published": self.system.published(project),
            "letters": [(reply.kind, reply.text) for reply in self.system.replies(about)],
            "outbox": sorted(path.name for path in (self.system.folder / "outbox").glob("*.eml")),
        }

    def wake(self, worker: int) -> None:
        """Let a paused worker go on, and wait until it is back in the pool with nothing in its hands."""
        woken_at = time.time()
        os.kill(worker, signal.SIGCONT)
        wait_until(lambda: any(one.pid == worker and one.seen_at > woken_at for one in self.system.workers()))
        wait_until(lambda: none_alive([pid for pid in offspring(worker) if not is_reader(pid)]))
        time.sleep(QUIET_SECONDS)
        assert alive(worker)


def is_reader(pid: int) -> bool:
    """Whether it is the process in which a worker reads mails; that one stays."""
    return function_pool_child.__name__.encode() in words_of(pid)


def new_repository(path: Path) -> Path:
    path.mkdir()
    git("init", "--quiet", "--bare", folder=path)
    return path


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pool]:
    folder = tmp_path_factory.mktemp("fencing")
    (folder / "marks").mkdir()
    (folder / "marks.sh").write_text(MARKS.format(marks=folder / "marks"))
    (folder / "agent.sh").write_text(AGENT.format(scripts=folder))
    (folder / "build.sh").write_text(f". {folder}/marks.sh\nhold build\n")
    system = System(
        folder / "home",
        SETTINGS,
        WEBORDINARY_WORK_AGENT="command",
        WEBORDINARY_WORK_COMMAND=f"sh {folder}/agent.sh",
        WEBORDINARY_WORK_SANDBOX="off-i-trust-every-sender",
    )
    workers = ("--handler", "site", "--json")
    with system.gateway(), system.worker(*workers), system.worker(*workers):
        yield Pool(system, folder)


@contextlib.contextmanager
def held_at(pool: Pool, point: str) -> Iterator[None]:
    """The first to come to this point is held there, until the end."""
    for mark in ("held", "go"):
        (pool.marks / mark).unlink(missing_ok=True)
    (pool.marks / f"hold-{point}").touch()
    try:
        yield
    finally:
        (pool.marks / "go").touch()
        (pool.marks / f"hold-{point}").unlink()


@pytest.mark.parametrize("point", ["agent", "build", "push"])
def test_a_worker_that_is_paused_past_its_lease_has_no_effect_when_it_wakes(pool: Pool, point: str) -> None:
    """What it had begun at that point ends while it is paused: so it goes on from there when it wakes."""
    project = f"held-{point}"
    sender = pool.onboard(project)
    with held_at(pool, point):
        sent = pool.system.send("Change something", sender=sender)
        wait_until((pool.marks / "held").exists)
        paused = pool.pause_owner(project)
        reply = pool.system.reply(sent)
    assert reply.kind == "done", reply.text
    assert pool.owner_of(project) != paused
    wait_until(lambda: none_alive([pid for pid in offspring(paused) if not is_reader(pid)]))
    before = pool.seen_of(project, sent)
    pool.wake(paused)
    assert pool.seen_of(project, sent) == before
    everything = git("log", "--all", "--name-only", folder=pool.repository(project))
    assert "fresh-" in everything
    assert "stale-" not in everything
    assert not [name for name in pool.system.published(project) if "stale" in name]


def test_a_worker_that_is_paused_at_any_moment_has_no_effect_when_it_wakes(pool: Pool) -> None:
    """What it did before it was paused counts or not, as it happens; what it does afterwards never does.

    Each round pauses whoever took over in the round before: so everybody who was paused goes back to work.
    """
    sender = pool.onboard("timed")
    paused_before, served_again = set[int](), set[int]()
    for delay in DELAYS:
        sent = pool.system.send("Change something", sender=sender)
        wait_until(partial(pool.agent_ran, "timed"))
        time.sleep(delay)
        paused = pool.pause_owner("timed")
        if pool.is_answered_meanwhile(sent):
            served_again |= {pool.server_of_newest("timed")} & paused_before
            wait_until(partial(pool.has_lost, paused, "timed"))
            before = pool.seen_of("timed", sent)
            pool.wake(paused)
            assert pool.seen_of("timed", sent) == before
            paused_before.add(paused)
        else:
            pool.wake(paused)
        assert pool.system.reply(sent).kind == "done"
        git("fsck", "--connectivity-only", folder=pool.repository("timed"))
    assert served_again
