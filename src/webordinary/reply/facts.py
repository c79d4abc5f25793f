"""What a letter can say: everything its templates may name, made from what is known about the case.

A new thing to tell is a new name here and a paragraph in the templates of every language.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from urllib.parse import quote as url_quoted

from webordinary.core.facts import Facts, FailureDetails, RequestedChange, UndoFacts
from webordinary.core.failure import FailureKind
from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.language import Language
from webordinary.core.letter_facts import (
    Accepted,
    Ending,
    MailFault,
    NotAMember,
    ProjectChoice,
    Question,
    StatusReport,
    StopRequest,
    UnclearWords,
)
from webordinary.core.mail import FileProblem, Letter, LetterKind, MailProblem, MailRecord, SessionId
from webordinary.core.page_changes import VAGUE, PageChange
from webordinary.core.views import JobView
from webordinary.reply.clean import first_line, for_people, one_line, several_lines
from webordinary.reply.filling import Fact
from webordinary.reply.headers import answered_subject
from webordinary.reply.phrases import Phrases, phrases

QUOTE_CHARACTERS = 140
NAME_CHARACTERS = 80
ITEM_CHARACTERS, ITEMS_MAX = 400, 20
NOTE_LINES, NOTE_CHARACTERS = 12, 1000
URL_CHARACTERS = 2000
EXCERPT_CHARACTERS = 700
YES = "yes"

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
NEITHER = frozenset(
    {FailureKind.DEMO, FailureKind.NO_SITE}
)  # the letter says what to do instead, or nothing helps

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


def ending_of(letter: Letter) -> Ending:
    """How the job ended that a letter is about."""
    return letter.facts if isinstance(letter.facts, Ending) else Ending()


def newer_job(letter: Letter, job: JobView) -> JobId | None:
    """The job that took this one's place, if one did."""
    return job.interrupted_by or ending_of(letter).by


def facts_of(letter: Letter, case: Case, answer_address: str) -> dict[str, Fact]:
    """Every fact that a template may name; "" or () where this letter has none."""
    facts, say = ending_of(letter).facts, phrases(case.language)
    yes, subject = say.say("yes"), answered_subject(case.mail.subject)
    return {
        **_about(letter, case, say),
        **_progress(letter, case.job),
        **_reason(letter, case, say),
        **_ending(letter, case),
        **_intent(case.job),
        **_undone(facts.undo or UndoFacts()),
        **_changed(letter, case, say),
        "unchanged": _yes(facts.unchanged),
        "read_quote": _yes(facts.read_quote),
        "read_ending": _yes(facts.read_ending),
        "also": _items(facts.also, say),
        "publishable": _yes(facts.preview is not None),
        "answer": _mail_link(answer_address, yes, yes),
        "publish_link": _mail_link(answer_address, subject, say.say("publish")),
        "undo_link": _mail_link(answer_address, subject, say.say("undo")),
        "stop_link": _mail_link(answer_address, subject, say.say("stop")),
        **_asked(letter, say),
        **_status(letter, case, say),
    }


def _yes(value: object) -> str:
    return YES if value else ""


def _items(lines: Iterable[str], say: Phrases) -> tuple[str, ...]:
    clean = [one_line(line, ITEM_CHARACTERS) for line in lines]
    return say.bounded([line for line in clean if line], ITEMS_MAX)


def _asked(letter: Letter, say: Phrases) -> dict[str, Fact]:
    """What a question of ours is about."""
    given = letter.facts
    excerpt = given.excerpt if isinstance(given, Question) else ""
    words = given.words if isinstance(given, UnclearWords) else ""
    projects = given.projects if isinstance(given, ProjectChoice) else ()
    return {
        "excerpt": one_line(_LINK.sub("[link]", excerpt), EXCERPT_CHARACTERS),
        "words": first_line(words, QUOTE_CHARACTERS),
        "projects": _items(projects, say),
        "example": first_line(projects[0] if projects else "", ITEM_CHARACTERS),
    }


def _mail_link(address: str, subject: str, body: str) -> str:
    """A link that opens a mail with everything filled in (RFC 6068)."""
    short = one_line(subject, NAME_CHARACTERS)
    return (
        f"mailto:{url_quoted(address, safe='@')}?subject={url_quoted(short, safe='')}&body={url_quoted(body)}"
    )


def _about(letter: Letter, case: Case, say: Phrases) -> dict[str, Fact]:
    mail, job = case.mail, case.job
    lane = job.lane if job else mail.lane
    named = letter.facts.project if isinstance(letter.facts, NotAMember | StatusReport) else ""
    return {
        "project": lane.project if lane else one_line(named, NAME_CHARACTERS),
        "address": one_line(mail.from_address, NAME_CHARACTERS),
        "quote": first_line(job.instruction, QUOTE_CHARACTERS) if job else "",
        "topic": "" if job or letter.kind in WITHOUT_TOPIC else _bare_subject(mail),
        "subject": _bare_subject(mail),
        "reference": _reference(letter, case),
        "files": _called([file.name for file in mail.files], mail, say),
        "unused": _called(ending_of(letter).facts.unused_files, mail, say),
        "skipped": _skipped(mail, say),
    }


def _skipped(mail: MailRecord, say: Phrases) -> tuple[str, ...]:
    lines = []
    for file in mail.skipped:
        name = one_line(file.claimed_name, NAME_CHARACTERS) or say.say("nameless_file")
        problem = FileProblem(file.reason).name.lower() if file.reason in set(FileProblem) else "other"
        lines.append(say.say("skipped", name=name, why=say.say(f"skipped_{problem}")))
    return say.bounded(lines, ITEMS_MAX)


def _called(names: Sequence[str], mail: MailRecord, say: Phrases) -> tuple[str, ...]:
    """Files as their sender calls them; with our name where that alone tells two apart."""
    claimed = {file.name: one_line(file.claimed_name, NAME_CHARACTERS) for file in mail.files}
    often = Counter(claimed.values())

    def called(name: str) -> str:
        theirs, ours = claimed.get(name, ""), one_line(name, NAME_CHARACTERS)
        if theirs in ("", ours):
            return ours
        return f"{theirs} ({ours})" if often[theirs] > 1 else theirs

    return say.bounded([called(name) for name in names if name], ITEMS_MAX)


# Answers to one word, and the question whether it was written by whom we ask.
AT_ONCE = frozenset({LetterKind.HELP, LetterKind.STATUS, LetterKind.STOPPED, LetterKind.UNCLEAR})
WITHOUT_TOPIC = AT_ONCE | {LetterKind.CONFIRM}


def _bare_subject(mail: MailRecord) -> str:
    return one_line(answered_subject(mail.subject).removeprefix("Re:"), QUOTE_CHARACTERS)


def _reference(letter: Letter, case: Case) -> str:
    """What to tell whoever looks after the service; nothing that needs it, nothing shown."""
    if letter.kind in AT_ONCE:
        return ""
    return one_line(case.job.id if case.job else case.mail.id, NAME_CHARACTERS)


def _progress(letter: Letter, job: JobView | None) -> dict[str, Fact]:
    """Where an accepted request stands in its line."""
    working = job is not None and job.state is JobState.RUNNING
    accepted = letter.facts if isinstance(letter.facts, Accepted) else Accepted()
    ahead = 0 if working else max(accepted.ahead - bool(accepted.interrupts), 0)
    return {
        "working": _yes(working),
        "next": _yes(not working and ahead == 0),
        "ahead_one": _yes(ahead == 1),
        "ahead": str(ahead) if ahead > 1 else "",
        "interrupts": _yes(accepted.interrupts),
    }


def _reason(letter: Letter, case: Case, say: Phrases) -> dict[str, Fact]:
    """Why it failed, in one plain sentence by the kind of failure. The details stay with the operator."""
    ending = ending_of(letter)
    kind = ending.failure or FailureKind.INTERNAL
    reason = ""
    if letter.kind is LetterKind.UNREADABLE:
        fault = letter.facts if isinstance(letter.facts, MailFault) else MailFault(MailProblem.DAMAGED)
        reason = say.say(f"unreadable_{fault.problem}")
    elif kind is FailureKind.DECLINED:
        reason = _words(letter, case)
    if not reason:
        details = ending.facts.failure or FailureDetails()
        words = {
            "who": one_line(details.who, NAME_CHARACTERS),
            "words": one_line(details.words, QUOTE_CHARACTERS),
            "detail": _demo_detail(details, say),
        }
        kind = FailureKind.INTERNAL if kind is FailureKind.DECLINED else kind
        reason = say.say(f"failure_{kind}", **words)
    unfinished = ending.facts.unfinished
    return {
        "reason": reason,
        "demo": _yes(kind is FailureKind.DEMO),
        "later": _yes(kind in LATER),
        "other_words": _yes(kind not in LATER | NEITHER),
        "unfinished": _yes(unfinished and unfinished.files),
    }


def _demo_detail(details: FailureDetails, say: Phrases) -> str:
    about = one_line(details.words, QUOTE_CHARACTERS)
    return say.say(f"demo_{details.demo}", about=about) if details.demo else say.say("demo_no_request")


def _ending(letter: Letter, case: Case) -> dict[str, Fact]:
    """How a job ended."""
    job = case.job
    return {
        "attempts": str(job.attempt) if job and job.attempt > 1 else "",
        "started": _yes(job and job.started_at is not None),
        "not_started": _yes(job and job.started_at is None),
        "newer": first_line(case.other.instruction, QUOTE_CHARACTERS) if case.other else "",
        "asked_to_stop": _yes(job and job.interrupted and not newer_job(letter, job)),
        "taken_over": _yes(job and case.other and _is_taken_over(job, case.other)),
    }


def _is_taken_over(job: JobView, newer: JobView) -> bool:
    """Whether the newer one carries this one out as well; see `dispatch.arrival_policy.taken_over`."""
    edits = job.intent is Intent.EDIT and newer.intent is Intent.EDIT
    return edits and job.state is JobState.PREEMPTED and job.interrupted_by == newer.id


def _intent(job: JobView | None) -> dict[str, Fact]:
    """What kind of work it was."""
    intent = job.intent if job else Intent.EDIT
    names = {Intent.EDIT: "edited", Intent.UNDO: "undone", Intent.REDO: "redone", Intent.PUBLISH: "published"}
    return {name: _yes(intent is one) for one, name in names.items()}


def _undone(undo: UndoFacts) -> dict[str, Fact]:
    """What an undo or redo came to."""
    return {
        "turned": first_line(undo.request, QUOTE_CHARACTERS),
        "turned_elsewhere": _yes(undo.elsewhere),
        "stopped": first_line(undo.stopped, QUOTE_CHARACTERS),
        "never_made": first_line(undo.never_made, QUOTE_CHARACTERS),
    }


def _changed(letter: Letter, case: Case, say: Phrases) -> dict[str, Fact]:
    """What is different now, said once: what the pages show, or, if that says little, the agent's words."""
    facts = ending_of(letter).facts
    changes = facts.preview.changes if facts.preview else ()
    live = facts.live
    edited = letter.kind is LetterKind.DONE and (case.job is None or case.job.intent is Intent.EDIT)
    summary = _words(letter, case) if edited else ""
    if any(change.kind not in VAGUE for change in changes):
        summary = ""
    return {
        "summary": summary,
        "changes": () if summary else _page_changes(changes, say),
        "live_changes": _page_changes(live.changes if live else (), say),
        "live_by_others": _requested(live.by_others if live else (), say),
        "live_later": _requested(live.later if live else (), say),
        "live_unchanged": _yes(live and live.unchanged),
        "warnings": _warnings(facts, say),
    }


def _page_changes(changes: Iterable[PageChange], say: Phrases) -> tuple[str, ...]:
    return tuple(one_line(say.change(change), ITEM_CHARACTERS) for change in changes)[:ITEMS_MAX]


def _requested(changes: Iterable[RequestedChange], say: Phrases) -> tuple[str, ...]:
    """Who asked for which change; nobody's name means the reader."""
    lines = []
    for change in changes:
        who, words = one_line(change.user, NAME_CHARACTERS), one_line(change.request, QUOTE_CHARACTERS)
        lines.append(say.say("requested_by", who=who or say.say("you"), words=words))
    return say.bounded(lines, ITEMS_MAX)


def _warnings(facts: Facts, say: Phrases) -> tuple[str, ...]:
    links = facts.preview.broken_links if facts.preview else ()
    more = facts.preview.more_broken_links if facts.preview else 0
    return (
        *([say.say("warning_upstream")] if facts.live and facts.live.upstream_conflicts else []),
        *(
            say.say("warning_link", on=say.on_page(one.title), target=one_line(one.target, QUOTE_CHARACTERS))
            for one in links
        ),
        *([say.say("more", count=str(more))] if more else []),
    )


def _words(letter: Letter, case: Case) -> str:
    """An agent's words, without what is only for those who look after the machines."""
    text = ending_of(letter).note or (case.job.note if case.job else "")
    worker = str(case.job.worker) if case.job and case.job.worker else ""
    return several_lines(for_people(text, worker), lines=NOTE_LINES, characters=NOTE_CHARACTERS)


def _status(letter: Letter, case: Case, say: Phrases) -> dict[str, Fact]:
    """What is running and what waits, for somebody who asked or who said stop; and where to look."""
    report = letter.facts if isinstance(letter.facts, StatusReport) else StatusReport()
    facts = ending_of(letter).facts
    words = report.running or (case.other.instruction if case.other else "")
    waited = letter.kind is LetterKind.STOPPED and case.other is not None and case.other.started_at is None
    return {
        "running": "" if waited else first_line(words, QUOTE_CHARACTERS),
        "called_off": first_line(words, QUOTE_CHARACTERS) if waited else "",
        "waiting_one": _yes(report.waiting == 1),
        "waiting": str(report.waiting) if report.waiting > 1 else "",
        "nothing": _yes(not words and not report.waiting),
        "stopping": _yes(isinstance(letter.facts, StopRequest) and letter.facts.jobs),
        "previewed": _items([_previewed(one, say) for one in report.previewed], say),
        "preview": web_address(report.preview or facts.address),
        "live": web_address(report.live or (facts.live.address if facts.live else "")),
    }


def _previewed(change: RequestedChange, say: Phrases) -> str:
    words = f"{change.user}: {change.request}" if change.user else change.request
    return say.say("taken_back", words=words) if change.taken_back else words


def web_address(text: str) -> str:
    """Give a link that can safely stand in a letter, or none."""
    return text if len(text) <= URL_CHARACTERS and _WEB_ADDRESS.fullmatch(text) else ""
