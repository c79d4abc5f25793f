"""What a verb changed, as the writes of one transaction."""

from __future__ import annotations

from dataclasses import dataclass, field
from hashlib import sha256

from webordinary.backends.aws import texts
from webordinary.backends.aws.dynamo import ABSENT, Delete, Put, Write
from webordinary.backends.aws.letters import CALLBACK, due, letter_item, letter_key
from webordinary.backends.aws.model import Model
from webordinary.backends.aws.rows import UNREAD, job_item, lane_item, lane_key
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.values import Item
from webordinary.core.job import ENDED, JobId, JobState
from webordinary.core.lane import Lane
from webordinary.core.mail import LetterKind
from webordinary.core.views import LaneEvent
from webordinary.ports.clock import Clock

SESSION_CHARACTERS = 200  # of a key; a longer name is hashed


@dataclass(slots=True)
class Changes:
    """All that one verb did."""

    writes: list[Write] = field(default_factory=list)
    letters: dict[int, tuple[str, LetterKind]] = field(default_factory=dict)  # by the place of the write
    lanes: dict[Lane, Item] = field(default_factory=dict)  # as they are written
    callbacks: list[Item] = field(default_factory=list)


def changes_of(model: Model, lanes: list[Lane], settings: AwsSettings, clock: Clock, token: str) -> Changes:
    """Compare these lanes and their jobs with what was read."""
    made = Changes()
    for lane in lanes:
        _change_lane(made, model, lane, settings, clock, token)
    for key, row in model.letters.rows.items():
        if key not in model.letters_known and _lane_of(model, row.letter.about) in lanes:
            made.letters[len(made.writes)] = key
            new = letter_key(key[0], key[1].value)
            item = letter_item(row.letter, clock.unique(), row.due_at)
            made.writes.append(Put(settings.outbox, item, dict.fromkeys(new, ABSENT)))
    return made


def _lane_of(model: Model, job: str) -> Lane | None:
    row = model.jobs.get(JobId(job))
    return row.job.lane if row else None


def _change_lane(
    made: Changes, model: Model, lane: Lane, settings: AwsSettings, clock: Clock, token: str
) -> None:
    row = model.lanes.get(lane)
    if row is None:
        return
    before = model.lanes_read.get(lane, {})
    after = lane_item(row, before, model.skew)
    mark = len(made.writes)
    _change_jobs(made, model, lane, after, settings, clock)
    events = [event for event in model.events if event.lane == lane]
    for event in events:
        after["events"] = after.get("events", 0) + 1
        made.writes.append(Put(settings.ledger, _event_item(event, after["events"], clock.unique())))
    _change_running(made, model, lane, before, after, settings)
    if after == before and len(made.writes) == mark:
        return
    after["version"] = before.get("version", 0) + 1
    after["writeId"] = token
    where = {"version": before["version"]} if before else dict.fromkeys(lane_key(lane), ABSENT)
    made.writes.append(Put(settings.lanes, after, where))
    made.lanes[lane] = after


def _change_jobs(
    made: Changes, model: Model, lane: Lane, lane_after: Item, settings: AwsSettings, clock: Clock
) -> None:
    ended: dict[str, int] = dict(lane_after.get("ended", {}))
    for job, row in model.jobs.items():
        if row.job.lane != lane or row.job.message_id == UNREAD:
            continue
        before = model.jobs_read.get(job, {})
        after = job_item(row, before, model.token_of(job))
        if after == before:
            continue
        was = before.get("state")
        if not before:
            made.writes += _new_job(after, row.job.instruction, settings)
        if not before or (was == JobState.DEAD and row.state is JobState.QUEUED):
            after["order"] = clock.unique()
        _count(ended, was, row.state.value)
        if row.state in ENDED:
            _call_back(made, after, settings, clock)
        if "facts" in after and "facts" not in before:
            made.writes.append(Put(settings.ledger, _left_item(lane, after)))
            lane_after["lastSession"] = after["session"]
        # Items that are read together are not read at one moment: the job may be older than its lane.
        where = {"version": before["version"]} if before else {"jobId": ABSENT}
        after["version"] = before.get("version", 0) + 1
        made.writes.append(Put(settings.jobs, after, where))
    if ended:
        lane_after["ended"] = ended


def _count(ended: dict[str, int], was: str | None, now: str) -> None:
    for state, more in ((was, -1), (now, 1)):
        if state in ENDED:
            ended[state] = ended.get(state, 0) + more


def _new_job(after: Item, instruction: str, settings: AwsSettings) -> list[Write]:
    inline, parts = texts.split(instruction)
    after.update(inline)
    message = message_key(after["lane"], after["messageId"])
    return [
        Put(settings.jobs, {**message, "job": after["jobId"]}, {"jobId": ABSENT}),
        *(Put(settings.jobs, item) for item in texts.text_items(after["jobId"], parts)),
    ]


def message_key(lane: str, message_id: str) -> dict[str, str]:
    """Where it is noted that a lane has a job for a mail."""
    return {"jobId": f"message {sha256(f'{lane} {message_id}'.encode()).hexdigest()}", "part": "message"}


def _call_back(made: Changes, job: Item, settings: AwsSettings, clock: Clock) -> None:
    """Owe the word to whoever waits with a task token; it is given after the transaction, or by a sweep."""
    token = job.pop("taskToken", None)
    if token is not None:
        owed: Item = {
            "about": job["jobId"],
            "kind": CALLBACK,
            "owed": CALLBACK,
            "due": due(clock.now(), clock.unique()),
            "owedAt": clock.now(),
            "taskToken": token,
            "state": job["state"],
            "note": job["note"],
            "facts": job.get("facts"),
        }
        made.callbacks.append(owed)
        made.writes.append(Put(settings.outbox, owed))


def left_key(lane: str, session: str) -> dict[str, str]:
    """Where that is which a conversation's last job left."""
    short = len(session) <= SESSION_CHARACTERS
    return {
        "projectKey": lane,
        "entry": f"left {session if short else sha256(session.encode()).hexdigest()}",
    }


def _left_item(lane: Lane, job: Item) -> Item:
    return {**left_key(lane.key, job["session"]), "job": job["jobId"], "facts": job["facts"]}


def _event_item(event: LaneEvent, number: int, order: str) -> Item:
    return {
        "projectKey": event.lane.key,
        "entry": f"event {number:012d}",
        "all": "event",
        "order": order,
        "at": event.at,
        "what": event.what.value,
        "worker": event.worker,
        "fence": event.fence,
        "job": event.job,
        "note": event.note,
    }


def _change_running(
    made: Changes, model: Model, lane: Lane, before: Item, after: Item, settings: AwsSettings
) -> None:
    """Keep the table of active jobs and the lane's own note of who waits for its running job."""
    ran, runs = _running(before), _running(after)
    head = model.lanes[lane].head
    read = model.jobs.get(head.job.id) if head else None
    if runs is None:
        after.pop("taskToken", None)
        if ran is not None:
            made.writes.append(Delete(settings.active, lane_key(lane)))
    elif read is not None:
        token = model.token_of(read.job.id)
        after.pop("taskToken", None)
        if token is not None:
            after["taskToken"] = token
        if runs != ran:
            made.writes.append(
                Put(
                    settings.active,
                    {
                        **lane_key(lane),
                        "jobId": read.job.id,
                        "containerId": read.worker,
                        "fence": read.fence,
                        "attempt": read.attempt,
                        "startedAt": read.started_at,
                    },
                )
            )


def _running(lane: Item) -> tuple[str, int] | None:
    if lane.get("headState") != JobState.RUNNING:
        return None
    return lane["open"][0], lane["headFence"]
