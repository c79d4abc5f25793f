"""What the agent of a job is given: its instruction, the rest of its mail, files, and what is unfinished."""

from __future__ import annotations

import asyncio
from dataclasses import replace

from webordinary.core.facts import UnfinishedWork
from webordinary.core.job import Job
from webordinary.core.mail import MailId, MailRecord, ParsedMail, Stretch
from webordinary.core.views import JobView
from webordinary.core.work import AgentTask, Earlier, MailedFile, Room
from webordinary.flows.history import ConversationHistory
from webordinary.flows.tools import Task, Tools
from webordinary.work.prompt import (
    PATCH_NAME,
    STRETCH_CHARACTERS,
    Material,
    TakenOver,
    compose,
    earlier_name,
    patch_name,
    stretch_name,
)
from webordinary.work.session_memory import agent_session, unfinished_commit


async def prepared(tools: Tools, task: Task) -> tuple[tuple[Stretch, ...], AgentTask]:
    """Read what is new in the job's mail, and lay out all that the agent is given."""
    job, workspace = task.delivery.job, task.workspace
    words = await _words(tools, task.mail, job, workspace.room)
    files = await _placed_files(tools, task.mail, workspace.room)
    taken = [await _placed_request(tools, task, number, one) for number, one in enumerate(task.taken, 1)]
    material = Material(
        subject=task.mail.subject if task.mail else "",
        stretches=words,
        files=files,
        taken_over=tuple(taken),
        unfinished=await _placed_patches(tools, task),
        since=task.memory.since,
        conflicts=workspace.conflicts,
    )
    agent_task = AgentTask(
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
    return words, agent_task


async def _placed_files(
    tools: Tools, mail: MailRecord | None, room: Room, prefix: str = ""
) -> tuple[MailedFile, ...]:
    """Put the mail's files where the agent can read them. Their names are of our own making."""
    placed = []
    for file in mail.files if mail else ():
        content, name = await tools.blobs.get(file.blob), f"{prefix}{file.name}"
        await asyncio.to_thread((room.mail / name).write_bytes, content)
        placed.append(MailedFile(name, file.kind, file.claimed_name))
    return tuple(placed)


async def _placed_request(tools: Tools, task: Task, number: int, job: JobView) -> TakenOver:
    """Lay all that belongs to a request that was taken over beside the mail's own files."""
    room, prefix = task.workspace.room, earlier_name(number, "")
    mail = await tools.backend.mailbox.mail(MailId(job.message_id))
    commit = unfinished_commit(job)
    patch = await tools.history.patch(task.workspace, commit) if commit else ""
    if patch:
        place = room.mail / earlier_name(number, PATCH_NAME)
        await asyncio.to_thread(place.write_text, patch, "utf-8")
    return TakenOver(
        job.instruction,
        await _words(tools, mail, job, room, prefix),
        await _placed_files(tools, mail, room, prefix),
        bool(patch),
    )


async def _words(
    tools: Tools, mail: MailRecord | None, job: Job | JobView, room: Room, prefix: str = ""
) -> tuple[Stretch, ...]:
    """Read what is new in the mail; what is too long for the prompt is laid beside the mail's files."""
    parsed = (
        await tools.reader.read(await tools.blobs.get(mail.blob), sender=mail.from_address) if mail else None
    )
    if mail is None or not isinstance(parsed, ParsedMail):
        return ()
    history = ConversationHistory(tools.backend, tools.reader, tools.letters)
    words = await history.new_in(parsed, job.lane, job.session, mail.received_at)
    for number, stretch in enumerate(words):
        if len(stretch.text) > STRETCH_CHARACTERS:
            place = room.mail / f"{prefix}{stretch_name(number)}"
            await asyncio.to_thread(place.write_text, stretch.text, "utf-8")
    return words


async def _placed_patches(tools: Tools, task: Task) -> tuple[UnfinishedWork, ...]:
    """Lay what the jobs before left unfinished beside the mail's files, as patches."""
    placed = []
    orders = {one.instruction for one in task.taken}
    others = [job for job in task.unfinished if job.request not in orders]
    for back, job in enumerate(reversed(others)):
        patch = await tools.history.patch(task.workspace, job.commit) if job.commit else ""
        if patch:
            place = task.workspace.room.mail / patch_name(back)
            await asyncio.to_thread(place.write_text, patch, "utf-8")
        placed.append(job if patch else replace(job, commit=""))
    return tuple(reversed(placed))
