"""What one job leaves for the next: the agent's own session, what happened meanwhile, what is unfinished."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from webordinary.core.outcome import Facts
from webordinary.core.views import JobView
from webordinary.ports.blobs import Blobs
from webordinary.ports.workspaces import Aside
from webordinary.work.prompt import Unfinished, gist

RECAP_LINES = 12
NAMED_MAX, PATH_CHARACTERS = 3, 80  # files that are named in one sentence
SINCE_LINES = 12
UNFINISHED_MAX = 5  # jobs that the next one is told of
ASKED_CHARACTERS, WHY_CHARACTERS = 2_000, 1_000  # of each that is carried on


@dataclass(frozen=True, slots=True)
class Memory:
    """What is known of the conversation when a job starts."""

    agent: str = ""
    session_blob: str = ""
    recap: tuple[str, ...] = ()
    since: tuple[str, ...] = ()
    shown: str = ""  # the commit that its last letter with a preview showed

    @classmethod
    def read(cls, left: Mapping[str, str]) -> Memory:
        """Read what the conversation's last job left."""
        return cls(
            left.get("agent", ""),
            left.get("agent_session", ""),
            _lines(left.get("recap", "")),
            _lines(left.get("since", "")),
            left.get("commit") or left.get("shown_commit", ""),
        )

    async def session(self, agent: str, blobs: Blobs) -> bytes | None:
        """The agent's own session, if it was an agent of the same name that left one."""
        if self.agent != agent or not self.session_blob:
            return None
        return await blobs.get(self.session_blob)

    def after_agent(self, agent: str, session_blob: str, instruction: str, summary: str) -> Facts:
        """What is left when the agent has had a turn: it knows all that happened until now."""
        recap = (*self.recap, asked(instruction, summary))
        return replace(self, agent=agent, session_blob=session_blob, recap=recap, since=()).facts

    def after(self, *happened: str) -> Facts:
        """What is left when something happened without the agent."""
        recap, since = (*self.recap, *happened), (*self.since, *happened)
        return replace(self, recap=recap, since=since).facts

    @property
    def facts(self) -> Facts:
        """What the conversation's next job reads."""
        facts = {
            "agent": self.agent,
            "agent_session": self.session_blob,
            "recap": "\n".join(self.recap[-RECAP_LINES:]),
            "since": "\n".join(self.since[-SINCE_LINES:]),
            "shown_commit": self.shown,
        }
        return {name: fact for name, fact in facts.items() if fact}


def asked(instruction: str, summary: str) -> str:
    """One line about a turn of the agent."""
    return f"Asked: {gist(instruction)} — {gist(summary) or 'no answer'}"


def not_in_the_site(left: Facts, instruction: str, aside: Aside | None, why: str = "") -> Facts:
    """What is left when a job's work did not come into the site: what was kept of it, where, and why.

    The agent's session may believe otherwise, so the conversation is told; the lane's next job is, too.
    """
    kept = f"; {kept_in_words(aside.files)} are kept aside as {aside.ref}" if aside else ""
    facts = Memory.read(left).after(
        f"Not in the site: {gist(instruction)} ({gist(why).rstrip('.') or 'interrupted'}{kept})"
    )
    facts |= {"unfinished": instruction, "unfinished_why": why[:WHY_CHARACTERS]}
    if aside:
        facts |= {
            "unfinished_ref": aside.ref,
            "unfinished_commit": aside.commit,
            "unfinished_files": "\n".join(aside.files),
        }
    return {name: fact for name, fact in facts.items() if fact}


def carried_on(unfinished: Sequence[Unfinished]) -> Facts:
    """What a job that did not come into the site either leaves of those before it."""
    last = [
        (one.asked[:ASKED_CHARACTERS], one.commit, one.why[:WHY_CHARACTERS])
        for one in unfinished[1 - UNFINISHED_MAX :]
    ]
    return {"unfinished_before": json.dumps(last)} if last else {}


def unfinished_in(left: Mapping[str, str]) -> tuple[Unfinished, ...]:
    """The jobs that did not come into the site since the last one that did, oldest first."""
    before = [Unfinished(*one) for one in json.loads(left.get("unfinished_before", "[]"))]
    words = left.get("unfinished", "")
    if words:
        before.append(Unfinished(words, left.get("unfinished_commit", ""), left.get("unfinished_why", "")))
    return tuple(before)


def with_taken_over(unfinished: Sequence[Unfinished], taken: Sequence[JobView]) -> tuple[Unfinished, ...]:
    """What is unfinished, with the requests that the job at hand took over; each once, whoever told of it."""
    known = {one.instruction[:ASKED_CHARACTERS] for one in taken}
    others = [one for one in unfinished if one.why or one.asked[:ASKED_CHARACTERS] not in known]
    return (*others, *(Unfinished(one.instruction, one.facts.get("unfinished_commit", "")) for one in taken))


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line for line in text.split("\n") if line)


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
