"""What a letter can say: everything its templates may name, made from what is known about the case.

A new thing to tell (an old and a new text, a screenshot) is a new name here and a paragraph in a template.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote as url_quoted

from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.mail import Letter, LetterKind, MailRecord, SessionId
from webordinary.core.outcome import interrupted_note
from webordinary.core.views import JobView
from webordinary.reply.clean import bounded, first_line, items, one_line, several_lines
from webordinary.reply.filling import Fact
from webordinary.reply.headers import answered_subject

QUOTE_CHARACTERS = 140
NAME_CHARACTERS = 80
ITEM_CHARACTERS, ITEMS_MAX = 200, 20
NOTE_LINES, NOTE_CHARACTERS = 12, 1000
URL_CHARACTERS = 2000
EXCERPT_CHARACTERS = 700
# Facts that are the words of a request: what was turned back or forth, stopped, or had changed nothing.
NAMED = ("turned", "stopped", "never_made")
SAID_OR_NOT = ("unchanged", "turned_elsewhere", "live_unchanged", "read_quote", "read_ending")
# Facts that are lists, one item a line.
LISTS = (
    "also",
    "previewed",
    "changes",
    "warnings",
    "projects",
    "live_changes",
    "live_by_others",
    "live_later",
    "unfinished_files",
)
YES = "yes"

# Visible characters, but no quotes and no angle brackets.
_LINK = re.compile(r"\b(?:[a-z][a-z0-9+.-]*:|www\.)\S+", re.IGNORECASE)  # a stranger's are not passed on
_WEB_ADDRESS = re.compile(r"https?://[\x21\x23-\x26\x28-\x3b\x3d\x3f-\x7e]+", re.ASCII)

# The store's own words about a job that was stopped. They say nothing about what was kept.
_TOOK_ITS_PLACE = re.compile(r"(?:interrupted|replaced) by the newer job (\S+)")


@dataclass(frozen=True, slots=True)
class Case:
    """What a letter is about: the mail it answers, its job, and the other job that comes into it.

    The other one is the newer job that interrupted this one, or the one that was stopped on request.
    """

    mail: MailRecord
    job: JobView | None = None
    other: JobView | None = None


def session_of(letter: Letter, case: Case) -> SessionId | None:
    """The conversation that a letter belongs to."""
    return letter.session or case.mail.session


def newer_job(letter: Letter, job: JobView) -> JobId | None:
    """The job that took this one's place, if one did."""
    named = _TOOK_ITS_PLACE.fullmatch(letter.facts.get("note") or job.note)
    return job.interrupted_by or (JobId(named[1]) if named else None)


def facts_of(letter: Letter, case: Case, answer_address: str) -> dict[str, Fact]:
    """Every fact that a template may name; "" or () where this letter has none."""
    given = letter.facts
    return {
        **_about(letter, case),
        **_progress(letter, case.job),
        **_outcome(letter, case),
        **_intent(case.job),
        **_made(given),
        **{name: items(given.get(name, ""), most=ITEMS_MAX, characters=ITEM_CHARACTERS) for name in LISTS},
        "preview": web_address(given.get("preview", "")),
        "publishable": given.get("publishable", ""),
        "example": first_line(given.get("projects", ""), ITEM_CHARACTERS),
        "link": web_address(given.get("link", "")),
        "answer": _mail_link(answer_address, "Yes", "Yes"),
        "publish_link": _mail_link(answer_address, answered_subject(case.mail.subject), "publish"),
        "undo_link": _mail_link(answer_address, answered_subject(case.mail.subject), "undo"),
        "stop_link": _mail_link(answer_address, answered_subject(case.mail.subject), "stop"),
        "live": web_address(given.get("live", "")),
        "words": first_line(given.get("words", ""), QUOTE_CHARACTERS),
        "excerpt": one_line(_LINK.sub("[link]", given.get("excerpt", "")), EXCERPT_CHARACTERS),
        "again": one_line(given.get("again", ""), ITEM_CHARACTERS),
        **_status(letter, case),
    }


def _mail_link(address: str, subject: str, body: str) -> str:
    """A link that opens a mail with everything filled in (RFC 6068)."""
    short = one_line(subject, NAME_CHARACTERS)
    return (
        f"mailto:{url_quoted(address, safe='@')}?subject={url_quoted(short, safe='')}&body={url_quoted(body)}"
    )


def _about(letter: Letter, case: Case) -> dict[str, Fact]:
    mail, job = case.mail, case.job
    lane = job.lane if job else mail.lane
    skipped = [
        f"{one_line(file.claimed_name, NAME_CHARACTERS) or 'a file without a name'}: "
        f"{one_line(file.reason, ITEM_CHARACTERS)}"
        for file in mail.skipped
    ]
    return {
        "project": lane.project if lane else one_line(letter.facts.get("project", ""), NAME_CHARACTERS),
        "quote": first_line(job.instruction, QUOTE_CHARACTERS) if job else "",
        "topic": "" if job or letter.kind in WITHOUT_TOPIC else _bare_subject(mail),
        "subject": _bare_subject(mail),
        "reference": _reference(letter, case),
        "files": _files(letter, mail),
        "unused": _called(letter.facts.get("unused", "").split("\n"), mail),
        "skipped": bounded(skipped, ITEMS_MAX),
    }


def _files(letter: Letter, mail: MailRecord) -> tuple[str, ...]:
    """The files that came into the site, where that is known; else all that came with the mail."""
    if "used" in letter.facts or "unused" in letter.facts:
        return _called(letter.facts.get("used", "").split("\n"), mail, in_site=True)
    return _called([file.name for file in mail.files], mail)


def _called(names: list[str], mail: MailRecord, *, in_site: bool = False) -> tuple[str, ...]:
    """Files as their sender calls them; with our name where people meet that, or to tell two apart."""
    claimed = {file.name: one_line(file.claimed_name, NAME_CHARACTERS) for file in mail.files}
    often = Counter(claimed.values())

    def called(name: str) -> str:
        theirs, ours = claimed.get(name, ""), one_line(name, NAME_CHARACTERS)
        if theirs in ("", ours):
            return ours
        return f"{theirs} (as {ours})" if in_site or often[theirs] > 1 else theirs

    return bounded([called(name) for name in names if name], ITEMS_MAX)


# Answers to one word, and the question whether it was written by whom we ask.
AT_ONCE = frozenset({LetterKind.HELP, LetterKind.STATUS, LetterKind.STOPPED, LetterKind.UNCLEAR})
WITHOUT_TOPIC = AT_ONCE | {LetterKind.CONFIRM}


def _bare_subject(mail: MailRecord) -> str:
    return one_line(answered_subject(mail.subject).removeprefix("Re:"), QUOTE_CHARACTERS)


def _reference(letter: Letter, case: Case) -> str:
    """What to tell whoever looks after the service; nothing that needs it, nothing shown."""
    if letter.kind in AT_ONCE:
        return ""
    number = case.job.id if case.job else case.mail.id
    worker = case.job.worker if case.job and letter.kind is LetterKind.ACCEPTED else None
    return one_line(f"{number}, with worker {worker}" if worker else number, NAME_CHARACTERS)


def _progress(letter: Letter, job: JobView | None) -> dict[str, Fact]:
    """Where an accepted request stands in its line."""
    working = job is not None and job.state is JobState.RUNNING
    interrupts = letter.facts.get("interrupts", "")
    ahead = 0 if working else max(_number(letter.facts.get("ahead", "")) - bool(interrupts), 0)
    return {
        "working": YES if working else "",
        "next": YES if not working and ahead == 0 else "",
        "ahead_one": YES if ahead == 1 else "",
        "ahead": str(ahead) if ahead > 1 else "",
        "interrupts": interrupts,
    }


def _outcome(letter: Letter, case: Case) -> dict[str, Fact]:
    """How a job ended, and why."""
    job = case.job
    words = letter.facts.get("reason") or letter.facts.get("note") or (job.note if job else "")
    note = several_lines(words, lines=NOTE_LINES, characters=NOTE_CHARACTERS)
    newer = newer_job(letter, job) if job else None
    stopped = note == interrupted_note(None) or bool(job and job.interrupted and not newer)
    says_what_was_kept = note != interrupted_note(None) and not _TOOK_ITS_PLACE.fullmatch(note)
    return {
        "reason": note,
        "summary": note,
        "attempts": str(job.attempt) if job and job.attempt > 1 else "",
        "started": YES if job and job.started_at is not None else "",
        "not_started": YES if job and job.started_at is None else "",
        "newer": first_line(case.other.instruction, QUOTE_CHARACTERS) if case.other else "",
        "asked_to_stop": YES if stopped else "",
        "taken_over": YES if job and case.other and _is_taken_over(job, case.other) else "",
        "kept": note if says_what_was_kept else "",
    }


def _is_taken_over(job: JobView, newer: JobView) -> bool:
    """Whether the newer one carries this one out as well; see `dispatch.arrival_policy.taken_over`."""
    edits = job.intent is Intent.EDIT and newer.intent is Intent.EDIT
    return edits and job.state is JobState.PREEMPTED and job.interrupted_by == newer.id


def _intent(job: JobView | None) -> dict[str, Fact]:
    """What kind of work it was."""
    intent = job.intent if job else Intent.EDIT
    names = {Intent.EDIT: "edited", Intent.UNDO: "undone", Intent.REDO: "redone", Intent.PUBLISH: "published"}
    return {name: YES if intent is one else "" for one, name in names.items()}


def _made(given: Mapping[str, str]) -> dict[str, Fact]:
    """What came of it: nothing at all, something that had to be named, or what everybody had seen before."""
    named = {name: first_line(given.get(name, ""), QUOTE_CHARACTERS) for name in NAMED}
    return {**named, **{name: YES if given.get(name) else "" for name in SAID_OR_NOT}}


def _status(letter: Letter, case: Case) -> dict[str, Fact]:
    """What is running and what waits, for somebody who asked or who said stop."""
    given = letter.facts
    words = given.get("running") or (case.other.instruction if case.other else "")
    waiting = _number(given.get("waiting", ""))
    return {
        "running": first_line(words, QUOTE_CHARACTERS),
        "waiting_one": YES if waiting == 1 else "",
        "waiting": str(waiting) if waiting > 1 else "",
        "nothing": YES if not words and not waiting else "",
        "stopping": YES if given.get("job") else "",
    }


def web_address(text: str) -> str:
    """Give a link that can safely stand in a letter, or none."""
    return text if len(text) <= URL_CHARACTERS and _WEB_ADDRESS.fullmatch(text) else ""


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < len("1000000") else 0
