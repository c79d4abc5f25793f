"""A job is carried out: workspace, agent, commit, build, release, facts for the reply. Stages 5 to 7.

Every step may be repeated under the next claim, and everything that leaves this process is fenced: a worker
that lost its lane can neither push nor publish, and what it settles is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from webordinary.core.claim import Delivery
from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.core.facts import Facts, SessionMemory
from webordinary.core.failure import FailureKind
from webordinary.core.job import Intent
from webordinary.core.mail import MailId, StretchKind
from webordinary.core.outcome import Done, Failed, Outcome, Preempted, Retry
from webordinary.core.views import JobView
from webordinary.core.work import AgentTask, Broke, Declined, Stopped, Worked
from webordinary.dispatch.arrival_policy import taken_over
from webordinary.flows.agent_task import prepared
from webordinary.flows.preview import NotPreviewed, Previewed, PreviewRequest, make_preview
from webordinary.flows.promote import promote
from webordinary.flows.tools import Task, Tools
from webordinary.flows.undo import revert, undo
from webordinary.ports.handler import Stop
from webordinary.ports.workspaces import Unresolved, Workspace
from webordinary.publish.manifest import secret_by_name, secret_inside
from webordinary.work.agent_run import run_agent
from webordinary.work.prompt import gist, set_apart
from webordinary.work.session_memory import (
    carried_on,
    left_unfinished,
    turn,
    unfinished_in,
    with_taken_over,
)

NOT_KEPT = "Nothing of it was kept, so that the secret does not get into the history of the site."


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
                return await undo(tools, task)
            case Intent.REDO:
                return await revert(tools, task)
            case Intent.PUBLISH:
                return await promote(tools, task)

    async def _taken_over(self, delivery: Delivery, workspace: Workspace) -> tuple[JobView, ...]:
        """Requests that this one interrupted, but for what came into the site before its worker was lost."""
        taken = await taken_over(self._tools.backend.ledger, delivery.job)
        made = [await self._tools.history.has_change_of(workspace, one.id) for one in taken]
        return tuple(one for one, is_made in zip(taken, made, strict=True) if not is_made)

    # --- an instruction ---------------------------------------------------------------------------

    async def _edit(self, task: Task) -> Outcome:
        words, agent_task = await prepared(self._tools, task)
        outcome = await self._carry_out(task, agent_task)
        if not isinstance(outcome, (Done, Failed)):
            return outcome
        apart = set_apart(words)
        quote, ending = apart is StretchKind.QUOTED, apart is StretchKind.SIGNATURE
        return replace(outcome, facts=replace(outcome.facts, read_quote=quote, read_ending=ending))

    async def _carry_out(self, task: Task, agent_task: AgentTask) -> Outcome:
        tools, delivery = self._tools, task.delivery
        result = await run_agent(
            tools.agent, agent_task, task.workspace.room, delivery, task.stop, tools.backend.journal
        )
        match result:
            case Worked(summary, session):
                return await self._worked(task, summary, await self._remembered(task, session, summary))
            case Stopped(summary, session):
                return await self._stopped(task, await self._remembered(task, session, summary))
            case Declined(reason, kind, details):
                left = task.without_change(f"Could not: {task.signed.gist}")
                return Failed(reason, replace(left, failure=details), kind)
            case Broke(reason, again, _, kind):
                if again:
                    return Retry(reason, kind)
                return await self._failed(task, reason, kind, task.memory)

    async def _remembered(self, task: Task, session: bytes | None, summary: str) -> SessionMemory:
        blob = await self._tools.blobs.put(session) if session else ""
        line = turn(task.delivery.job.instruction, summary)
        return task.memory.after_agent(self._tools.agent.name, blob, line)

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
                request = PreviewRequest(commit, own=commit)
        match await make_preview(self._tools, task, request, task.stop):
            case None:
                return await self._stopped(task, memory, commit)
            case NotPreviewed(reason, kind):
                if kind is FailureKind.SECRET or await self._has_secret(task, commit):
                    return self._thrown_away(task, reason, memory)
                return await self._failed(task, reason, kind, memory, commit)
            case Previewed(facts):
                return Done(summary, replace(facts, memory=memory))

    async def _already_committed(self, task: Task) -> Outcome:
        """An earlier attempt got as far as the repository: show that, and do nothing twice."""
        workspace, summary = task.workspace, task.workspace.said
        memory = task.memory.after(turn(task.delivery.job.instruction, summary))
        request = PreviewRequest(workspace.previewed, own=workspace.committed)
        preview = await make_preview(self._tools, task, request)
        if isinstance(preview, NotPreviewed):  # it was built before it was pushed: it must be shown
            return Retry(preview.reason, preview.kind)
        return Done(summary, replace(preview.facts, memory=memory))

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


def _with_taken_over(taken: Sequence[JobView], outcome: Outcome) -> Outcome:
    """One letter is about all: those who sent the earlier mails expect no other."""
    if not taken or not isinstance(outcome, Done | Failed):
        return outcome
    also = tuple(gist(one.instruction) for one in taken)
    return replace(outcome, facts=replace(outcome.facts, also=also))
