"""A change is taken back, or brought back. No model is asked. Stage 6."""

from __future__ import annotations

from dataclasses import replace

from webordinary.core.facts import Facts, FailureDetails, UndoFacts
from webordinary.core.job import Intent, JobState
from webordinary.core.outcome import Done, Failed, Outcome
from webordinary.dispatch.arrival_policy import never_made
from webordinary.flows.preview import NotPreviewed, PreviewRequest, make_preview
from webordinary.flows.tools import Task, Tools
from webordinary.ports.workspaces import CannotRevert
from webordinary.work.prompt import gist


async def undo(tools: Tools, task: Task) -> Outcome:
    """Take the last change back.

    An undo that came while its edit was being made took that back already: nothing older is meant.
    """
    edit = await never_made(tools.backend.ledger, task.delivery.job)
    # It may have been stopped, or its worker lost, after its change was in: then that is taken back.
    if edit is None or await tools.history.has_change_of(task.workspace, edit.id):
        return await revert(tools, task)
    stopped = edit.state is JobState.PREEMPTED
    summary = f"{'Stopped' if stopped else 'Nothing to take back'}: {gist(edit.instruction)}"
    facts = UndoFacts(stopped=edit.instruction) if stopped else UndoFacts(never_made=edit.instruction)
    return Done(summary, Facts(undo=facts, memory=task.memory.after(summary)))


async def revert(tools: Tools, task: Task) -> Outcome:
    """Undo the conversation's (else the lane's) last change, or redo the last undo; and preview that."""
    job = task.delivery.job
    could_not = task.without_change(f"Could not {job.intent}")
    reverted = await tools.workspaces.revert(task.workspace, job.intent, task.signed)
    if isinstance(reverted, CannotRevert):
        details = FailureDetails(reverted.who, reverted.words)
        return Failed(reverted.reason, replace(could_not, failure=details), reverted.kind)
    request = PreviewRequest(reverted.tip, own=reverted.commit)
    preview = await make_preview(tools, task, request)
    if isinstance(preview, NotPreviewed):
        return Failed(preview.reason, could_not, preview.kind)
    summary = f"{'Taken back' if job.intent is Intent.UNDO else 'Brought back'}: {reverted.gist}"
    facts = UndoFacts(reverted.gist, reverted.elsewhere)
    return Done(summary, replace(preview.facts, undo=facts, memory=task.memory.after(summary)))
