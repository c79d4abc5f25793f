"""A job is carried out: workspace, agent, commit, build, release, facts for the reply. Stages 5 to 7.

Every step may be repeated under the next claim, and everything that leaves this process is fenced: a worker
that lost its lane can neither push nor publish, and what it settles is refused.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from webordinary.core.claim import Delivery
from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.core.job import Intent
from webordinary.core.mail import MailId, MailRecord, ParsedMail
from webordinary.core.outcome import Done, Facts, Failed, Outcome, Preempted, Retry
from webordinary.core.release import Place
from webordinary.core.site import Project
from webordinary.core.work import Broke, Declined, Errand, MailedFile, Room, Stopped, Worked
from webordinary.flows.showing import NotShown, Shown, show
from webordinary.flows.tools import Tools
from webordinary.ports.handler import Stop
from webordinary.ports.workspaces import CannotTurn, Signed, Unresolved, Workspace
from webordinary.work.agent_run import run_agent
from webordinary.work.prompt import PATCH_NAME, Material, compose, gist
from webordinary.work.remembering import Memory


@dataclass(frozen=True, slots=True)
class Task:
    """One job with all that belongs to it."""

    delivery: Delivery
    project: Project
    workspace: Workspace
    stop: Stop
    memory: Memory
    mail: MailRecord | None

    @property
    def signed(self) -> Signed:
        """How its commits are signed."""
        sender = self.mail.from_address if self.mail else f"{self.delivery.claim.lane}"
        return Signed(gist(self.delivery.job.instruction), "", sender)


class Performance:
    """See `Handler`: from a claimed job to a published site."""

    def __init__(self, tools: Tools) -> None:
        """Work with these."""
        self._tools = tools

    async def run(self, delivery: Delivery, stop: Stop) -> Outcome:
        """See `Handler.run`."""
        try:
            return await self._run(delivery, stop)
        except BackendUnavailable as error:
            return Retry(str(error))
        except NotFound as error:
            return Failed(str(error))

    async def _run(self, delivery: Delivery, stop: Stop) -> Outcome:
        tools, job = self._tools, delivery.job
        project = await tools.backend.directory.project(job.lane.project)
        if project is None:
            return Failed(f"There is no site called {job.lane.project} here (any more).")
        if not project.repository:
            project = replace(
                project, repository=await tools.repositories.create(project.name, tools.starter)
            )
        await tools.publisher.enter(delivery.claim)
        workspace = await tools.workspaces.open(delivery, project)
        memory = Memory.read(await tools.backend.journal.left(job.lane, job.session))
        mail = await tools.backend.mailbox.mail(MailId(job.message_id))
        task = Task(delivery, project, workspace, stop, memory, mail)
        if workspace.committed:
            return await self._already_committed(task)
        match job.intent:
            case Intent.EDIT:
                return await self._edit(task)
            case Intent.UNDO | Intent.REDO:
                return await self._turn(task)
            case Intent.PUBLISH:
                return await self._promote(task)

    # --- an instruction ---------------------------------------------------------------------------

    async def _edit(self, task: Task) -> Outcome:
        tools, delivery = self._tools, task.delivery
        errand = await self._errand(task)
        result = await run_agent(
            tools.agent, errand, task.workspace.room, delivery, task.stop, tools.backend.journal
        )
        match result:
            case Worked(summary, session):
                return await self._worked(task, summary, await self._left(task, session, summary))
            case Stopped(summary, session):
                return await self._stopped(task, await self._left(task, session, summary))
            case Declined(reason):
                return Failed(reason, task.memory.after(f"Could not: {task.signed.gist}"))
            case Broke(reason, again):
                if again:
                    return Retry(reason)
                return Failed(reason, await self._kept_aside(task))

    async def _left(self, task: Task, session: bytes | None, summary: str) -> Facts:
        blob = await self._tools.blobs.put(session) if session else ""
        return task.memory.after_agent(self._tools.agent.name, blob, task.delivery.job.instruction, summary)

    async def _worked(self, task: Task, summary: str, left: Facts) -> Outcome:
        workspaces = self._tools.workspaces
        signed = replace(task.signed, body=summary)
        commit = await workspaces.commit(task.workspace, signed)
        match commit:
            case None:
                return Done(summary or "There was nothing to change.", left)
            case Unresolved(files):
                await self._kept_aside(task)
                return Failed(
                    "Somebody else changed the same lines, and I could not bring both together: "
                    f"{', '.join(files)}. The person who looks after the site's files can."
                )
            case str():
                pass
        shown = await show(self._tools, task.delivery, task.workspace, commit, task.stop)
        if shown is None:
            return await self._stopped(task, left)
        return _ended(shown, summary, left)

    async def _errand(self, task: Task) -> Errand:
        tools, job, workspace = self._tools, task.delivery.job, task.workspace
        files = await self._placed_files(task.mail, workspace.room)
        unfinished = await self._unfinished(task)
        material = Material(
            quoted=await self._quoted(task.mail),
            files=files,
            unfinished=unfinished,
            since=task.memory.since,
            conflicts=workspace.conflicts,
        )
        return Errand(
            job=job.id,
            instruction=job.instruction,
            prompt=compose(job.id, job.instruction, material),
            subject=task.mail.subject if task.mail else "",
            files=files,
            conflicts=workspace.conflicts,
            resume=await task.memory.session(tools.agent.name, tools.blobs),
            recap="\n".join(task.memory.recap),
        )

    async def _placed_files(self, mail: MailRecord | None, room: Room) -> tuple[MailedFile, ...]:
        """Put the mail's files where the agent can read them. Their names are of our own making."""
        placed = []
        for file in mail.files if mail else ():
            content = await self._tools.blobs.get(file.blob)
            await asyncio.to_thread((room.mail / file.name).write_bytes, content)
            placed.append(MailedFile(file.name, file.kind))
        return tuple(placed)

    async def _quoted(self, mail: MailRecord | None) -> str:
        if mail is None:
            return ""
        parsed = await self._tools.reader.read(await self._tools.blobs.get(mail.blob))
        return parsed.quoted if isinstance(parsed, ParsedMail) else ""

    async def _unfinished(self, task: Task) -> str:
        """What the job before left unfinished, its patch laid beside the mail's files."""
        left = await self._tools.backend.journal.left(task.delivery.claim.lane)
        commit = left.get("unfinished_commit", "")
        if commit:
            patch = await self._tools.workspaces.patch(task.workspace, commit)
            await asyncio.to_thread((task.workspace.room.mail / PATCH_NAME).write_text, patch, "utf-8")
        return left.get("unfinished", "")

    # --- being interrupted ------------------------------------------------------------------------

    async def _stopped(self, task: Task, left: Facts) -> Outcome:
        aside = await self._kept_aside(task)
        files = aside.get("unfinished_files", "")
        kept = f"Changes to {', '.join(files.split(chr(10)))}." if files else ""
        return Preempted(None, kept, {**left, **aside, "unfinished": task.delivery.job.instruction})

    async def _kept_aside(self, task: Task) -> Facts:
        aside = await self._tools.workspaces.keep_aside(task.workspace, task.signed)
        if aside is None:
            return {}
        return {
            "unfinished_ref": aside.ref,
            "unfinished_commit": aside.commit,
            "unfinished_files": "\n".join(aside.files),
        }

    # --- undo, redo, publish: no model is asked -----------------------------------------------------

    async def _turn(self, task: Task) -> Outcome:
        job = task.delivery.job
        if task.workspace.conflicts:
            return Failed(
                "Somebody else changed the same lines since, so this can't be taken back by itself."
            )
        turned = await self._tools.workspaces.turn(task.workspace, job.intent, task.signed)
        if isinstance(turned, CannotTurn):
            return Failed(turned.reason, task.memory.after(f"Could not {job.intent}"))
        words = "Taken back" if job.intent is Intent.UNDO else "Brought back"
        summary = f"{words}: {turned.gist}"
        shown = await show(self._tools, task.delivery, task.workspace, turned.commit)
        return _ended(shown, summary, task.memory.after(summary))

    async def _promote(self, task: Task) -> Outcome:
        """Make what is previewed live; where nothing was previewed yet, the site as it is."""
        tools, claim = self._tools, task.delivery.claim
        if await tools.publisher.current(claim.lane.project, Place.PREVIEW) is None:
            if task.workspace.conflicts:
                return Failed("Somebody else changed the same lines since. Nothing was published.")
            shown = await show(tools, task.delivery, task.workspace, task.workspace.base)
            if isinstance(shown, NotShown):
                return Failed(shown.reason, shown.facts)
        commit = await tools.publisher.promote(claim)
        assert commit is not None
        landed = await tools.workspaces.land(task.workspace, commit)
        facts = task.memory.after("Published: the preview was made live")
        facts["preview"] = tools.publisher.address(claim.lane.project, Place.LIVE)
        if isinstance(landed, Unresolved):
            facts["warnings"] = (
                "The main branch holds changes that do not fit together with what was published."
            )
        return Done("Everybody sees it now.", facts)

    async def _already_committed(self, task: Task) -> Outcome:
        """An earlier attempt got as far as the repository: show that, and do nothing twice."""
        shown = await show(self._tools, task.delivery, task.workspace, task.workspace.committed)
        summary = task.signed.gist
        return _ended(shown, summary, task.memory.after(f"Done: {summary}"))


def _ended(shown: Shown | NotShown, summary: str, left: Facts) -> Outcome:
    match shown:
        case Shown(facts):
            return Done(summary, {**left, **facts})
        case NotShown(reason, facts):
            return Failed(reason, {**left, **facts})
