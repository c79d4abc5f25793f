"""What one job leaves for the next: the agent's own session, what happened meanwhile, what is unfinished."""

from __future__ import annotations

from collections.abc import Sequence

from webordinary.core.facts import Facts, SessionMemory, UnfinishedWork
from webordinary.core.views import JobView
from webordinary.ports.blobs import Blobs
from webordinary.ports.workspaces import Aside
from webordinary.work.prompt import gist

NAMED_MAX, PATH_CHARACTERS = 3, 80  # files that are named in one sentence
UNFINISHED_MAX = 5  # jobs that the next one hears of
REQUEST_CHARACTERS, WHY_CHARACTERS = 2_000, 1_000  # of each that is carried on


async def agent_session(memory: SessionMemory, agent: str, blobs: Blobs) -> bytes | None:
    """The agent's own session, if it was an agent of the same name that left one."""
    if memory.agent != agent or not memory.agent_session:
        return None
    return await blobs.get(memory.agent_session)


def turn(instruction: str, summary: str) -> str:
    """One line about a turn of the agent."""
    return f"Asked: {gist(instruction)} — {gist(summary) or 'no answer'}"


def left_unfinished(
    memory: SessionMemory,
    instruction: str,
    aside: Aside | None,
    before: Sequence[UnfinishedWork],
    why: str = "",
) -> Facts:
    """What is left when a job's work did not come into the site: what was kept of it, where, and why.

    The agent's session may believe otherwise: the conversation's next job is given this, and the lane's.
    """
    kept = f"; {kept_in_words(aside.files)} are kept aside as {aside.ref}" if aside else ""
    reason = gist(why).rstrip(".") or "interrupted"
    work = UnfinishedWork(instruction, why=why[:WHY_CHARACTERS])
    if aside:
        work = UnfinishedWork(instruction, aside.commit, work.why, aside.ref, tuple(aside.files))
    return Facts(
        memory=memory.after(f"Not in the site: {gist(instruction)} ({reason}{kept})"),
        unfinished=work,
        unfinished_before=carried_on(before),
    )


def carried_on(unfinished: Sequence[UnfinishedWork]) -> tuple[UnfinishedWork, ...]:
    """What a job that did not come into the site either leaves of those before it."""
    return tuple(
        UnfinishedWork(one.request[:REQUEST_CHARACTERS], one.commit, one.why[:WHY_CHARACTERS])
        for one in unfinished[1 - UNFINISHED_MAX :]
    )


def unfinished_in(left: Facts) -> tuple[UnfinishedWork, ...]:
    """The jobs that did not come into the site since the last one that did, oldest first."""
    return (*left.unfinished_before, left.unfinished) if left.unfinished else left.unfinished_before


def with_taken_over(
    unfinished: Sequence[UnfinishedWork], taken: Sequence[JobView]
) -> tuple[UnfinishedWork, ...]:
    """What is unfinished, with the requests that the job at hand took over; each once, whoever left it."""
    known = {one.instruction[:REQUEST_CHARACTERS] for one in taken}
    others = [one for one in unfinished if one.why or one.request[:REQUEST_CHARACTERS] not in known]
    return (*others, *(UnfinishedWork(one.instruction, unfinished_commit(one)) for one in taken))


def unfinished_commit(job: JobView) -> str:
    """The commit that holds what was kept of a job's work; "" if nothing was."""
    return job.facts.unfinished.commit if job.facts.unfinished else ""


def kept_in_words(files: Sequence[str]) -> str:
    """Say which unfinished work was kept: "changes to index.html and 2 more files"; "" if there is none."""
    if not files:
        return ""
    named = [gist(path)[:PATH_CHARACTERS] for path in files[:NAMED_MAX]]
    more = len(files) - len(named)
    if more:
        named.append(f"{more} more file{'s' if more > 1 else ''}")
    listed = " and ".join(named) if len(named) < 3 else f"{', '.join(named[:-1])} and {named[-1]}"  # noqa: PLR2004
    return f"changes to {listed}"
