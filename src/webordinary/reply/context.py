"""What a letter can say: every fact that its template may name, made from what is known about the case.

A new thing to say is a new name here, a line in the letter's template, and a sentence in every language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import assert_never
from urllib.parse import quote as url_quoted

from webordinary.core.facts import (
    Accepted,
    Ending,
    Facts,
    FailureDetails,
    LetterFacts,
    LiveFacts,
    MailFault,
    NotAMember,
    ProjectChoice,
    Question,
    RequestedChange,
    StatusReport,
    StopRequest,
    UnclearWords,
    UndoFacts,
)
from webordinary.core.failure import FailureKind
from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.language import Language
from webordinary.core.mail import FACTS_OF, Letter, LetterKind, MailRecord, SessionId
from webordinary.core.page_changes import VAGUE, PageChange
from webordinary.core.text import one_line
from webordinary.core.views import JobView
from webordinary.reply.clean import first_line, for_people, several_lines
from webordinary.reply.headers import answered_subject
from webordinary.reply.rendering import Phrases, phrases

QUOTE_CHARACTERS = 140
NAME_CHARACTERS = 80
ITEM_CHARACTERS, ITEMS_MAX = 400, 20
NOTE_LINES, NOTE_CHARACTERS = 12, 1000
URL_CHARACTERS = 2000
EXCERPT_CHARACTERS = 700

# Answers to one word, and the question whether it was written by whom we ask.
AT_ONCE = frozenset({LetterKind.HELP, LetterKind.STATUS, LetterKind.STOPPED, LetterKind.UNCLEAR})
WITHOUT_TOPIC = AT_ONCE | {LetterKind.CONFIRM}

# Failures after which the same mail may well succeed later; after others it should be put in another way.
LATER = frozenset(
    {
        FailureKind.MODEL_UNREACHABLE,
        FailureKind.MODEL_SETUP,
        FailureKind.AGENT_BROKE,
        FailureKind.CONFLICT,
        FailureKind.NOT_TOGETHER,
        FailureKind.INTERNAL,
    }
)

_LINK = re.compile(r"\b(?:[a-z][a-z0-9+.-]*:|www\.)\S+", re.IGNORECASE)  # a stranger's are not passed on
# Visible characters, but no quotes and no angle brackets.
_WEB_ADDRESS = re.compile(r"https?://[\x21\x23-\x26\x28-\x3b\x3d\x3f-\x7e]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class Case:
    """What a letter is about: the mail it answers, its job, and the other job that comes into it.

    The other one is the newer job that interrupted this one, or the one that was stopped on request.
    """

    mail: MailRecord
    job: JobView | None = None
    other: JobView | None = None

    @property
    def language(self) -> Language:
        """The language its sender writes in, if letters are written in that."""
        return self.mail.language or Language.ENGLISH


def session_of(letter: Letter, case: Case) -> SessionId | None:
    """The conversation that a letter belongs to."""
    return letter.session or case.mail.session


def newer_job(letter: Letter, job: JobView) -> JobId | None:
    """The job that took this one's place, if one did."""
    return job.interrupted_by or (letter.facts.by if isinstance(letter.facts, Ending) else None)


def context_of(letter: Letter, case: Case, answer_address: str) -> dict[str, object]:
    """Every fact that the letter's template may name."""
    say, mail, job = phrases(case.language), case.mail, case.job
    subject = answered_subject(mail.subject)
    bare_subject = one_line(subject.removeprefix("Re:"), QUOTE_CHARACTERS)
    lane = job.lane if job else mail.lane
    named = letter.facts.project if isinstance(letter.facts, NotAMember | StatusReport) else ""
    yes = say.word("yes")
    return {
        "project": lane.project if lane else one_line(named, NAME_CHARACTERS),
        "intent": job.intent if job else Intent.EDIT,
        "request": first_line(job.instruction, QUOTE_CHARACTERS) if job else "",
        "topic": "" if job or letter.kind in WITHOUT_TOPIC else bare_subject,
        # What to tell whoever looks after the service, where somebody may need that.
        "reference": "" if letter.kind in AT_ONCE else one_line(job.id if job else mail.id, NAME_CHARACTERS),
        "subject": bare_subject,
        "address": one_line(mail.from_address, NAME_CHARACTERS),
        "files": _named_files([file.name for file in mail.files], mail, say),
        "skipped": _skipped(mail, say),
        "yes_link": _mail_link(answer_address, yes, yes),
        "publish_link": _mail_link(answer_address, subject, say.word("publish")),
        "undo_link": _mail_link(answer_address, subject, say.word("undo")),
        "stop_link": _mail_link(answer_address, subject, say.word("stop")),
        **_own(letter, case, say),
    }


def _own(letter: Letter, case: Case, say: Phrases) -> dict[str, object]:  # noqa: C901 - a case a class
    """What only letters of its kind say."""
    facts: LetterFacts | None = letter.facts
    if facts is None and letter.kind in FACTS_OF:
        facts = FACTS_OF[letter.kind]()
    match facts:
        case Accepted(ahead, interrupts):
            return {
                "working": case.job is not None and case.job.state is JobState.RUNNING,
                "ahead": max(ahead - bool(interrupts), 0),  # what it interrupts makes way at once
                "interrupts": bool(interrupts),
            }
        case Ending():
            return _ended(letter, facts, case, say)
        case Question(_, excerpt):
            return {"excerpt": one_line(_LINK.sub("[link]", excerpt), EXCERPT_CHARACTERS)}
        case ProjectChoice(projects):
            listed = _items(projects, say)
            return {"projects": listed, "example": listed[0] if listed else ""}
        case UnclearWords(words):
            return {"words": first_line(words, QUOTE_CHARACTERS)}
        case MailFault(problem):
            return {"reason": say.say("mail_problem", problem)}
        case StopRequest(jobs):
            return {"stopping": bool(jobs), **_stopped(case.other)}
        case StatusReport():
            return {
                "running": first_line(facts.running, QUOTE_CHARACTERS),
                "waiting": facts.waiting,
                "previewed": _items([_previewed(one, say) for one in facts.previewed], say),
                "preview": web_address(facts.preview),
                "live": web_address(facts.live),
            }
        case NotAMember() | None:
            return {}
        case _:
            assert_never(facts)


def _stopped(job: JobView | None) -> dict[str, object]:
    words = first_line(job.instruction, QUOTE_CHARACTERS) if job else ""
    has_begun = job is not None and job.started_at is not None
    return {"running": words if has_begun else "", "called_off": "" if has_begun else words}


# --- how a job ended ------------------------------------------------------------------------------------


def _ended(letter: Letter, ending: Ending, case: Case, say: Phrases) -> dict[str, object]:
    job, facts = case.job, ending.facts
    undo, live = facts.undo or UndoFacts(), facts.live or LiveFacts("")
    edited = letter.kind is LetterKind.DONE and (job is None or job.intent is Intent.EDIT)
    changes = facts.preview.changes if facts.preview else ()
    # What is different is said once: what the pages show or, if that says little, the agent's words.
    is_described = any(change.kind not in VAGUE for change in changes)
    summary = _agents_words(ending, job) if edited and not is_described else ""
    return {
        **_failed(ending, job, say),
        "unfinished": bool(facts.unfinished and facts.unfinished.files),
        "attempts": job.attempt if job else 0,
        "started": job is not None and job.started_at is not None,
        "newer": first_line(case.other.instruction, QUOTE_CHARACTERS) if case.other else "",
        "asked_to_stop": bool(job and job.interrupted and not newer_job(letter, job)),
        "taken_over": bool(job and case.other and _is_taken_over(job, case.other)),
        "unchanged": facts.unchanged,
        "undone": first_line(undo.request, QUOTE_CHARACTERS),
        "elsewhere": undo.elsewhere,
        "stopped": first_line(undo.stopped, QUOTE_CHARACTERS),
        "never_made": first_line(undo.never_made, QUOTE_CHARACTERS),
        "also": _items(facts.also, say),
        "summary": summary,
        "changes": () if summary else _changes(changes, say),
        "live_changes": _changes(live.changes, say),
        "live_by_others": _requested(live.by_others, say),
        "live_later": _requested(live.later, say),
        "live_unchanged": live.unchanged,
        "site_address": web_address(facts.address),
        "is_preview": facts.preview is not None,
        "warnings": _warnings(facts, say),
        "unused": _named_files(facts.unused_files, case.mail, say),
        "read_quote": facts.read_quote,
        "read_ending": facts.read_ending,
    }


def _failed(ending: Ending, job: JobView | None, say: Phrases) -> dict[str, object]:
    """Why it failed, in one plain sentence, and what helps. The details are the operator's."""
    kind = ending.failure or FailureKind.INTERNAL
    details = ending.facts.failure or FailureDetails()
    reason = _agents_words(ending, job) if kind is FailureKind.DECLINED else ""
    if not reason:
        kind = FailureKind.INTERNAL if kind is FailureKind.DECLINED else kind
        words = one_line(details.words, QUOTE_CHARACTERS)
        detail = say.say("demo_obstacle", details.demo or "no_request", about=words)
        who = one_line(details.who, NAME_CHARACTERS)
        reason = say.say("failure", kind, who=who, words=words, detail=detail)
    match kind:
        case FailureKind.DEMO:
            advice = "demo"
        case FailureKind.NO_SITE:  # nothing helps
            advice = ""
        case _:
            advice = "later" if kind in LATER else "other_words"
    return {"reason": reason, "advice": advice}


def _is_taken_over(job: JobView, newer: JobView) -> bool:
    """Whether the newer one carries this one out as well; see `dispatch.arrival_policy.taken_over`."""
    edits = job.intent is Intent.EDIT and newer.intent is Intent.EDIT
    return edits and job.state is JobState.PREEMPTED and job.interrupted_by == newer.id


def _agents_words(ending: Ending, job: JobView | None) -> str:
    """An agent's words, without what is only for those who look after the machines."""
    text = ending.note or (job.note if job else "")
    worker = str(job.worker) if job and job.worker else ""
    return several_lines(for_people(text, worker), lines=NOTE_LINES, characters=NOTE_CHARACTERS)


# --- lists ----------------------------------------------------------------------------------------------


def _items(lines: Iterable[str], say: Phrases) -> tuple[str, ...]:
    clean = [one_line(line, ITEM_CHARACTERS) for line in lines]
    return say.bounded([line for line in clean if line], ITEMS_MAX)


def _changes(changes: Iterable[PageChange], say: Phrases) -> tuple[str, ...]:
    return tuple(one_line(say.change(change), ITEM_CHARACTERS) for change in changes)[:ITEMS_MAX]


def _requested(changes: Iterable[RequestedChange], say: Phrases) -> tuple[str, ...]:
    """Who asked for which change; nobody's name means the reader."""
    lines = []
    for change in changes:
        who, words = one_line(change.user, NAME_CHARACTERS), one_line(change.request, QUOTE_CHARACTERS)
        lines.append(say.word("requested_by", who=who or say.word("you"), words=words))
    return say.bounded(lines, ITEMS_MAX)


def _previewed(change: RequestedChange, say: Phrases) -> str:
    words = f"{change.user}: {change.request}" if change.user else change.request
    return say.word("taken_back", words=words) if change.taken_back else words


def _warnings(facts: Facts, say: Phrases) -> tuple[str, ...]:
    links = facts.preview.broken_links if facts.preview else ()
    more = facts.preview.more_broken_links if facts.preview else 0
    lines = [
        say.say("warning", "link", on=say.on_page(one.title), target=one_line(one.target, QUOTE_CHARACTERS))
        for one in links
    ]
    if facts.live and facts.live.upstream_conflicts:
        lines.insert(0, say.say("warning", "upstream"))
    return (*lines, say.word("more", count=more)) if more else tuple(lines)


def _skipped(mail: MailRecord, say: Phrases) -> tuple[str, ...]:
    lines = []
    for file in mail.skipped:
        name = one_line(file.claimed_name, NAME_CHARACTERS) or say.word("nameless_file")
        lines.append(say.word("skipped", name=name, why=say.say("file_problem", file.problem)))
    return say.bounded(lines, ITEMS_MAX)


def _named_files(names: Sequence[str], mail: MailRecord, say: Phrases) -> tuple[str, ...]:
    """Files as their sender calls them; with our name where that alone tells two apart."""
    claimed = {file.name: one_line(file.claimed_name, NAME_CHARACTERS) for file in mail.files}
    often = Counter(claimed.values())

    def called(name: str) -> str:
        theirs, ours = claimed.get(name, ""), one_line(name, NAME_CHARACTERS)
        if theirs in ("", ours):
            return ours
        return f"{theirs} ({ours})" if often[theirs] > 1 else theirs

    return say.bounded([called(name) for name in names if name], ITEMS_MAX)


# --- links ----------------------------------------------------------------------------------------------


def web_address(text: str) -> str:
    """Give a link that can safely stand in a letter, or none."""
    return text if len(text) <= URL_CHARACTERS and _WEB_ADDRESS.fullmatch(text) else ""


def _mail_link(address: str, subject: str, body: str) -> str:
    """A link that opens a mail with everything filled in (RFC 6068)."""
    short = one_line(subject, NAME_CHARACTERS)
    return (
        f"mailto:{url_quoted(address, safe='@')}?subject={url_quoted(short, safe='')}&body={url_quoted(body)}"
    )
