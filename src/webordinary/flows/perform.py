"""A job is carried out: workspace, agent, commit, build, release, facts for the reply. Stages 5 to 7.

Every step may be repeated under the next claim, and everything that leaves this process is fenced: a worker
that lost its lane can neither push nor publish, and what it settles is refused.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from webordinary.core.claim import Delivery
from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.core.facts import Facts, FailureDetails, SessionMemory, UndoFacts, UnfinishedWork
from webordinary.core.failure import FailureKind
from webordinary.core.job import Intent, Job, JobState
from webordinary.core.mail import MailId, MailRecord, ParsedMail, Stretch, StretchKind
from webordinary.core.outcome import Done, Failed, Outcome, Preempted, Retry
from webordinary.core.site import Project
from webordinary.core.views import JobView
from webordinary.core.work import AgentTask, Broke, Declined, Earlier, MailedFile, Room, Stopped, Worked
from webordinary.dispatch.arrival_policy import never_made, taken_over
from webordinary.flows.history import History
from webordinary.flows.preview import NotShown, Showing, Shown, show
from webordinary.flows.promote import go_live
from webordinary.flows.tools import Tools
from webordinary.ports.handler import Stop
from webordinary.ports.workspaces import CannotRevert, Signed, Unresolved, Workspace
from webordinary.publish.manifest import secret_by_name, secret_inside
from webordinary.work.agent_run import run_agent
from webordinary.work.prompt import (
    PATCH_NAME,
    STRETCH_CHARACTERS,
    Material,
    TakenOver,
    compose,
    earlier_name,
    gist,
    patch_name,
    set_apart,
    stretch_name,
)
from webordinary.work.session_memory import (
    agent_session,
    carried_on,
    left_unfinished,
    turn,
    unfinished_commit,
    unfinished_in,
    with_taken_over,
)

NOT_KEPT = "Nothing of it was kept, so that the secret does not get into the history of the site."


@dataclass(frozen=True, slots=True)
class Task:
    """One job with all that belongs to it."""

    delivery: Delivery
    project: Project
    workspace: Workspace
    stop: Stop
    memory: SessionMemory
    mail: MailRecord | None
    unfinished: tuple[UnfinishedWork, ...] = ()  # jobs of the lane that came to nothing just before
    taken: tuple[JobView, ...] = ()  # requests that this one interrupted and carries out in their place

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
            return Failed(str(error), kind=FailureKind.INTERNAL)

    async def _run(self, delivery: Delivery, stop: Stop) -> Outcome:
        tools, job = self._tools, delivery.job
        project = await tools.backend.directory.project(job.lane.project)
        if project is None:
            return Failed(f"There is no site called {job.lane.project}.", kind=FailureKind.NO_SITE)
        if not project.repository:
            project = replace(
                project, repository=await tools.repositories.create(project.name, tools.starter)
            )
        await tools.publisher.enter(delivery.claim)
        workspace = await tools.workspaces.open(delivery, project)
        memory = (await tools.backend.journal.left(job.lane, job.session)).next_memory
        mail = await tools.backend.mailbox.mail(MailId(job.message_id))
        taken = await self._taken_over(delivery, workspace)
        unfinished = with_taken_over(unfinished_in(await tools.backend.journal.left(job.lane)), taken)
        task = Task(delivery, project, workspace, stop, memory, mail, unfinished, taken)
        match job.intent:
            case Intent.EDIT if workspace.committed:
                return _with_taken_over(taken, await self._already_committed(task))
            case Intent.EDIT:
                return _with_taken_over(taken, await self._edit(task))
            case Intent.UNDO:
                return await self._nothing_was_made(task) or await self._turn(task)
            case Intent.REDO:
                return await self._turn(task)
            case Intent.PUBLISH:
                return await go_live(tools, delivery, workspace, memory)

    async def _taken_over(self, delivery: Delivery, workspace: Workspace) -> tuple[JobView, ...]:
        """Requests that this one interrupted, but for what came into the site before its worker was lost."""
        taken = await taken_over(self._tools.backend.ledger, delivery.job)
        made = [await self._tools.history.has_change_of(workspace, one.id) for one in taken]
        return tuple(one for one, is_made in zip(taken, made, strict=True) if not is_made)

    # --- an instruction ---------------------------------------------------------------------------

    async def _edit(self, task: Task) -> Outcome:
        words = await self._words(task.mail, task.delivery.job, task.workspace.room)
        outcome = await self._carry_out(task, await self._errand(task, words))
        if not isinstance(outcome, (Done, Failed)):
            return outcome
        apart = set_apart(words)
        quote, ending = apart is StretchKind.QUOTED, apart is StretchKind.SIGNATURE
        return replace(outcome, facts=replace(outcome.facts, read_quote=quote, read_ending=ending))

    async def _carry_out(self, task: Task, errand: AgentTask) -> Outcome:
        tools, delivery = self._tools, task.delivery
        result = await run_agent(
            tools.agent, errand, task.workspace.room, delivery, task.stop, tools.backend.journal
        )
        match result:
            case Worked(summary, session):
                return await self._worked(task, summary, await self._remembered(task, session, summary))
            case Stopped(summary, session):
                return await self._stopped(task, await self._remembered(task, session, summary))
            case Declined(reason, kind, details):
                left = self._without_change(task, f"Could not: {task.signed.gist}")
                return Failed(reason, replace(left, failure=details), kind)
            case Broke(reason, again, _, kind):
                if again:
                    return Retry(reason, kind)
                return await self._failed(task, reason, kind, task.memory)

    async def _remembered(self, task: Task, session: bytes | None, summary: str) -> SessionMemory:
        blob = await self._tools.blobs.put(session) if session else ""
        line = turn(task.delivery.job.instruction, summary)
        return task.memory.after_agent(self._tools.agent.name, blob, line)

    def _without_change(self, task: Task, happened: str) -> Facts:
        """What a job leaves that came to nothing: what was kept of those before it stays so."""
        return Facts(memory=task.memory.after(happened), unfinished_before=carried_on(task.unfinished))

    async def _worked(self, task: Task, summary: str, memory: SessionMemory) -> Outcome:
        workspaces = self._tools.workspaces
        signed = replace(task.signed, body=summary)
        commit = await workspaces.commit(task.workspace, signed)
        match commit:
            case None:
                unused = tuple(file.name for file in task.mail.files) if task.mail else ()
                before = carried_on(task.unfinished)
                facts = Facts(unchanged=True, unused_files=unused, unfinished_before=before, memory=memory)
                return Done(summary, facts)
            case Unresolved(files):
                reason = (
                    f"Somebody else changed the same lines, and they were not merged: {', '.join(files)}."
                )
                return await self._failed(task, reason, FailureKind.CONFLICT, memory)
            case str():
                showing = Showing(commit, own=commit)
        match await show(self._tools, task.delivery, task.workspace, showing, task.stop):
            case None:
                return await self._stopped(task, memory, commit)
            case NotShown(reason, kind):
                if kind is FailureKind.SECRET or await self._has_secret(task, commit):
                    return self._thrown_away(task, reason, memory)
                return await self._failed(task, reason, kind, memory, commit)
            case Shown(facts):
                return Done(summary, replace(facts, memory=memory))

    async def _errand(self, task: Task, words: tuple[Stretch, ...]) -> AgentTask:
        tools, job, workspace = self._tools, task.delivery.job, task.workspace
        files = await self._placed_files(task.mail, workspace.room)
        taken = [await self._placed_request(task, number, one) for number, one in enumerate(task.taken, 1)]
        material = Material(
            subject=task.mail.subject if task.mail else "",
            stretches=words,
            files=files,
            taken_over=tuple(taken),
            unfinished=await self._placed_patches(task),
            since=task.memory.since,
            conflicts=workspace.conflicts,
        )
        return AgentTask(
            job=job.id,
            instruction=job.instruction,
            prompt=compose(job.id, job.instruction, material),
            subject=task.mail.subject if task.mail else "",
            files=files,
            conflicts=workspace.conflicts,
            earlier=tuple(Earlier(one.request, one.files) for one in taken),
            resume=await agent_session(task.memory, tools.agent.name, tools.blobs),
            recap="\n".join(task.memory.recap),
        )

    async def _placed_files(
        self, mail: MailRecord | None, room: Room, prefix: str = ""
    ) -> tuple[MailedFile, ...]:
        """Put the mail's files where the agent can read them. Their names are of our own making."""
        placed = []
        for file in mail.files if mail else ():
            content, name = await self._tools.blobs.get(file.blob), f"{prefix}{file.name}"
            await asyncio.to_thread((room.mail / name).write_bytes, content)
            placed.append(MailedFile(name, file.kind, file.claimed_name))
        return tuple(placed)

    async def _placed_request(self, task: Task, number: int, job: JobView) -> TakenOver:
        """Lay all that belongs to a request that was taken over beside the mail's own files."""
        room, prefix = task.workspace.room, earlier_name(number, "")
        mail = await self._tools.backend.mailbox.mail(MailId(job.message_id))
        commit = unfinished_commit(job)
        patch = await self._tools.history.patch(task.workspace, commit) if commit else ""
        if patch:
            place = room.mail / earlier_name(number, PATCH_NAME)
            await asyncio.to_thread(place.write_text, patch, "utf-8")
        return TakenOver(
            job.instruction,
            await self._words(mail, job, room, prefix),
            await self._placed_files(mail, room, prefix),
            bool(patch),
        )

    async def _words(
        self, mail: MailRecord | None, job: Job | JobView, room: Room, prefix: str = ""
    ) -> tuple[Stretch, ...]:
        """Read what is new in the mail; what is too long for the prompt is laid beside the mail's files."""
        tools = self._tools
        parsed = (
            await tools.reader.read(await tools.blobs.get(mail.blob), sender=mail.from_address)
            if mail
            else None
        )
        if mail is None or not isinstance(parsed, ParsedMail):
            return ()
        history = History(tools.backend, tools.reader, tools.letters)
        words = await history.new_in(parsed, job.lane, job.session, mail.received_at)
        for number, stretch in enumerate(words):
            if len(stretch.text) > STRETCH_CHARACTERS:
                place = room.mail / f"{prefix}{stretch_name(number)}"
                await asyncio.to_thread(place.write_text, stretch.text, "utf-8")
        return words

    async def _placed_patches(self, task: Task) -> tuple[UnfinishedWork, ...]:
        """Lay what the jobs before left unfinished beside the mail's files, as patches."""
        placed = []
        orders = {one.instruction for one in task.taken}
        others = [job for job in task.unfinished if job.request not in orders]
        for back, job in enumerate(reversed(others)):
            patch = await self._tools.history.patch(task.workspace, job.commit) if job.commit else ""
            if patch:
                place = task.workspace.room.mail / patch_name(back)
                await asyncio.to_thread(place.write_text, patch, "utf-8")
            placed.append(job if patch else replace(job, commit=""))
        return tuple(reversed(placed))

    # --- what did not come into the site ----------------------------------------------------------

    async def _has_secret(self, task: Task, commit: str) -> bool:
        """Look at what a commit adds, for the gate may not have come so far."""
        changes = await self._tools.history.changes(task.workspace, commit)
        return any(secret_by_name(one.path) or secret_inside(one.new or b"") for one in changes)

    def _thrown_away(self, task: Task, reason: str, memory: SessionMemory) -> Outcome:
        """Kept aside, a secret would be in the repository for good."""
        facts = left_unfinished(memory, task.delivery.job.instruction, None, task.unfinished, reason)
        return Failed(f"{reason}\n{NOT_KEPT}", facts, FailureKind.SECRET)

    async def _stopped(self, task: Task, memory: SessionMemory, commit: str = "") -> Outcome:
        facts = await self._kept_aside(task, memory, commit)
        files = facts.unfinished.files if facts.unfinished else ()
        return Preempted(None, f"Changes to {', '.join(files)}." if files else "", facts)

    async def _failed(
        self, task: Task, reason: str, kind: FailureKind, memory: SessionMemory, commit: str = ""
    ) -> Outcome:
        return Failed(reason, await self._kept_aside(task, memory, commit, reason), kind)

    async def _kept_aside(self, task: Task, memory: SessionMemory, commit: str, why: str = "") -> Facts:
        """Keep the work where people and the next job find it: the commit of it, or what is in the tree."""
        aside = await self._tools.workspaces.keep_aside(task.workspace, task.signed, commit)
        return left_unfinished(memory, task.delivery.job.instruction, aside, task.unfinished, why)

    # --- undo and redo: no model is asked -----------------------------------------------------

    async def _nothing_was_made(self, task: Task) -> Outcome | None:
        """An undo that came while its edit was being made took that back already: nothing older is meant."""
        edit = await never_made(self._tools.backend.ledger, task.delivery.job)
        # It may have been stopped, or its worker lost, after its change was in: then that is taken back.
        if edit is None or await self._tools.history.has_change_of(task.workspace, edit.id):
            return None
        stopped = edit.state is JobState.PREEMPTED
        summary = f"{'Stopped' if stopped else 'Nothing to take back'}: {gist(edit.instruction)}"
        undo = UndoFacts(stopped=edit.instruction) if stopped else UndoFacts(never_made=edit.instruction)
        return Done(summary, Facts(undo=undo, memory=task.memory.after(summary)))

    async def _turn(self, task: Task) -> Outcome:
        job = task.delivery.job
        could_not = self._without_change(task, f"Could not {job.intent}")
        turned = await self._tools.workspaces.revert(task.workspace, job.intent, task.signed)
        if isinstance(turned, CannotRevert):
            details = FailureDetails(turned.who, turned.words)
            return Failed(turned.reason, replace(could_not, failure=details), turned.kind)
        showing = Showing(turned.tip, own=turned.commit)
        shown = await show(self._tools, task.delivery, task.workspace, showing)
        if isinstance(shown, NotShown):
            return Failed(shown.reason, could_not, shown.kind)
        words = "Taken back" if job.intent is Intent.UNDO else "Brought back"
        summary = f"{words}: {turned.gist}"
        undo = UndoFacts(turned.gist, turned.elsewhere)
        return Done(summary, replace(shown.facts, undo=undo, memory=task.memory.after(summary)))

    async def _already_committed(self, task: Task) -> Outcome:
        """An earlier attempt got as far as the repository: show that, and do nothing twice."""
        workspace, summary = task.workspace, task.workspace.said
        memory = task.memory.after(turn(task.delivery.job.instruction, summary))
        showing = Showing(workspace.previewed, own=workspace.committed)
        shown = await show(self._tools, task.delivery, workspace, showing)
        if isinstance(shown, NotShown):  # it was built before it was pushed, and it is in: it must be shown
            return Retry(shown.reason, shown.kind)
        return Done(summary, replace(shown.facts, memory=memory))


def _with_taken_over(taken: Sequence[JobView], outcome: Outcome) -> Outcome:
    """One letter is about all: those who sent the earlier mails expect no other."""
    if not taken or not isinstance(outcome, Done | Failed):
        return outcome
    also = tuple(gist(one.instruction) for one in taken)
    return replace(outcome, facts=replace(outcome.facts, also=also))
