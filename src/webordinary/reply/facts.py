"""What a letter can say: everything its templates may name, made from what is known about the case.

A new thing to tell is a new name here and a paragraph in the templates of every language.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import quote as url_quoted

from webordinary.core.failure import FailureKind
from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.language import Language
from webordinary.core.mail import FileProblem, Letter, LetterKind, MailProblem, MailRecord, SessionId
from webordinary.core.outcome import interrupted_note
from webordinary.core.page_changes import VAGUE, unpacked
from webordinary.core.views import JobView
from webordinary.reply.clean import first_line, for_people, items, one_line, several_lines
from webordinary.reply.filling import Fact
from webordinary.reply.headers import answered_subject
from webordinary.reply.phrases import Phrases, phrases

QUOTE_CHARACTERS = 140
NAME_CHARACTERS = 80
ITEM_CHARACTERS, ITEMS_MAX = 400, 20
NOTE_LINES, NOTE_CHARACTERS = 12, 1000
URL_CHARACTERS = 2000
EXCERPT_CHARACTERS = 700
# Facts that are the words of a request: what was turned back or forth, stopped, or had changed nothing.
NAMED = ("turned", "stopped", "never_made")
SAID_OR_NOT = ("unchanged", "turned_elsewhere", "live_unchanged", "read_quote", "read_ending")
LISTS = ("also", "previewed", "projects")  # one item a line
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

    @property
    def language(self) -> Language:
        """The language its sender writes in, if letters are written in that."""
        return self.mail.language or Language.ENGLISH


def session_of(letter: Letter, case: Case) -> SessionId | None:
    """The conversation that a letter belongs to."""
    return letter.session or case.mail.session


def newer_job(letter: Letter, job: JobView) -> JobId | None:
    """The job that took this one's place, if one did."""
    named = _TOOK_ITS_PLACE.fullmatch(letter.facts.get("note") or job.note)
    return job.interrupted_by or (JobId(named[1]) if named else None)


def facts_of(letter: Letter, case: Case, answer_address: str) -> dict[str, Fact]:
    """Every fact that a template may name; "" or () where this letter has none."""
    given, say = letter.facts, phrases(case.language)
    yes, subject = say.say("yes"), answered_subject(case.mail.subject)
    return {
        **_about(letter, case, say),
        **_progress(letter, case.job),
        **_reason(letter, case, say),
        **_ending(letter, case),
        **_intent(case.job),
        **_made(given),
        **_changed(letter, case, say),
        **{
            name: say.bounded(items(given.get(name, ""), characters=ITEM_CHARACTERS), ITEMS_MAX)
            for name in LISTS
        },
        "preview": web_address(given.get("preview", "")),
        "publishable": given.get("publishable", ""),
        "example": first_line(given.get("projects", ""), ITEM_CHARACTERS),
        "link": web_address(given.get("link", "")),
        "answer": _mail_link(answer_address, yes, yes),
        "publish_link": _mail_link(answer_address, subject, say.say("publish")),
        "undo_link": _mail_link(answer_address, subject, say.say("undo")),
        "stop_link": _mail_link(answer_address, subject, say.say("stop")),
        "live": web_address(given.get("live", "")),
        "words": first_line(given.get("words", ""), QUOTE_CHARACTERS),
        "excerpt": one_line(_LINK.sub("[link]", given.get("excerpt", "")), EXCERPT_CHARACTERS),
        **_status(letter, case),
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
    return {
        "project": lane.project if lane else one_line(letter.facts.get("project", ""), NAME_CHARACTERS),
        "address": one_line(mail.from_address, NAME_CHARACTERS),
        "quote": first_line(job.instruction, QUOTE_CHARACTERS) if job else "",
        "topic": "" if job or letter.kind in WITHOUT_TOPIC else _bare_subject(mail),
        "subject": _bare_subject(mail),
        "reference": _reference(letter, case),
        "files": _called([file.name for file in mail.files], mail, say),
        "unused": _called(letter.facts.get("unused", "").split("\n"), mail, say),
        "skipped": _skipped(mail, say),
    }


def _skipped(mail: MailRecord, say: Phrases) -> tuple[str, ...]:
    lines = []
    for file in mail.skipped:
        name = one_line(file.claimed_name, NAME_CHARACTERS) or say.say("nameless_file")
        problem = FileProblem(file.reason).name.lower() if file.reason in set(FileProblem) else "other"
        lines.append(say.say("skipped", name=name, why=say.say(f"skipped_{problem}")))
    return say.bounded(lines, ITEMS_MAX)


def _called(names: list[str], mail: MailRecord, say: Phrases) -> tuple[str, ...]:
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
    interrupts = letter.facts.get("interrupts", "")
    ahead = 0 if working else max(_number(letter.facts.get("ahead", "")) - bool(interrupts), 0)
    return {
        "working": YES if working else "",
        "next": YES if not working and ahead == 0 else "",
        "ahead_one": YES if ahead == 1 else "",
        "ahead": str(ahead) if ahead > 1 else "",
        "interrupts": interrupts,
    }


def _reason(letter: Letter, case: Case, say: Phrases) -> dict[str, Fact]:
    """Why it failed, in one plain sentence by the kind of failure. The details stay with the operator."""
    given = letter.facts
    named = given.get("failure", "")
    kind = FailureKind(named) if named in set(FailureKind) else FailureKind.INTERNAL
    reason = ""
    if letter.kind is LetterKind.UNREADABLE:
        problem = given.get("problem", "")
        known = problem if problem in set(MailProblem) else MailProblem.DAMAGED
        reason = say.say(f"unreadable_{known}")
    elif kind is FailureKind.DECLINED:
        reason = _words(letter, case)
    if not reason:
        words = {
            "who": one_line(given.get("failure_who", ""), NAME_CHARACTERS),
            "words": one_line(given.get("failure_words", ""), QUOTE_CHARACTERS),
            "detail": _demo_detail(given, say),
        }
        kind = FailureKind.INTERNAL if kind is FailureKind.DECLINED else kind
        reason = say.say(f"failure_{kind}", **words)
    return {
        "reason": reason,
        "demo": YES if kind is FailureKind.DEMO else "",
        "later": YES if kind in LATER else "",
        "other_words": YES if kind not in LATER | NEITHER else "",
        "unfinished": YES if given.get("unfinished_files") else "",
    }


def _demo_detail(given: Mapping[str, str], say: Phrases) -> str:
    key = f"demo_{given.get('demo_obstacle', '')}"
    about = one_line(given.get("demo_about", ""), QUOTE_CHARACTERS)
    return say.say(key, about=about) if say.knows(key) else say.say("demo_no_request")


def _ending(letter: Letter, case: Case) -> dict[str, Fact]:
    """How a job ended."""
    job = case.job
    note = letter.facts.get("note") or (job.note if job else "")
    newer = newer_job(letter, job) if job else None
    stopped = note == interrupted_note(None) or bool(job and job.interrupted and not newer)
    return {
        "attempts": str(job.attempt) if job and job.attempt > 1 else "",
        "started": YES if job and job.started_at is not None else "",
        "not_started": YES if job and job.started_at is None else "",
        "newer": first_line(case.other.instruction, QUOTE_CHARACTERS) if case.other else "",
        "asked_to_stop": YES if stopped else "",
        "taken_over": YES if job and case.other and _is_taken_over(job, case.other) else "",
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


def _changed(letter: Letter, case: Case, say: Phrases) -> dict[str, Fact]:
    """What is different now, told once: what the pages show, or, if that says little, the agent's words."""
    given = letter.facts
    changes = unpacked(given.get("changes", ""))
    edited = letter.kind is LetterKind.DONE and (case.job is None or case.job.intent is Intent.EDIT)
    summary = _words(letter, case) if edited else ""
    if any(change.kind not in VAGUE for change in changes):
        summary = ""
    return {
        "summary": summary,
        "changes": () if summary else _told(given.get("changes", ""), say),
        "live_changes": _told(given.get("live_changes", ""), say),
        "live_by_others": _made_by(given.get("live_by_others", ""), say),
        "live_later": _made_by(given.get("live_later", ""), say),
        "warnings": _warnings(given, say),
    }


def _told(changes: str, say: Phrases) -> tuple[str, ...]:
    return tuple(one_line(say.change(change), ITEM_CHARACTERS) for change in unpacked(changes))[:ITEMS_MAX]


def _made_by(text: str, say: Phrases) -> tuple[str, ...]:
    """Who made which change; nobody's name means the reader."""
    lines = []
    for user, asked in _pairs(text):
        who, words = one_line(user, NAME_CHARACTERS), one_line(asked, QUOTE_CHARACTERS)
        lines.append(say.say("told_by", who=who or say.say("you"), words=words))
    return say.bounded(lines, ITEMS_MAX)


def _warnings(given: Mapping[str, str], say: Phrases) -> tuple[str, ...]:
    links = [
        say.say("warning_link", on=say.on_page(title), target=one_line(target, QUOTE_CHARACTERS))
        for title, target in _pairs(given.get("broken_links", ""))
    ]
    more = _number(given.get("broken_links_more", ""))
    return (
        *([say.say("warning_upstream")] if given.get("upstream_apart") else []),
        *links,
        *([say.say("more", count=str(more))] if more else []),
    )


def _pairs(text: str) -> list[tuple[str, str]]:
    return [(str(one), str(other)) for one, other in json.loads(text)] if text.startswith("[[") else []


def _words(letter: Letter, case: Case) -> str:
    """An agent's words, without what is only for those who look after the machines."""
    text = letter.facts.get("note") or (case.job.note if case.job else "")
    worker = str(case.job.worker) if case.job and case.job.worker else ""
    return several_lines(for_people(text, worker), lines=NOTE_LINES, characters=NOTE_CHARACTERS)


def _status(letter: Letter, case: Case) -> dict[str, Fact]:
    """What is running and what waits, for somebody who asked or who said stop."""
    given = letter.facts
    words = given.get("running") or (case.other.instruction if case.other else "")
    waiting = _number(given.get("waiting", ""))
    waited = letter.kind is LetterKind.STOPPED and case.other is not None and case.other.started_at is None
    return {
        "running": "" if waited else first_line(words, QUOTE_CHARACTERS),
        "called_off": first_line(words, QUOTE_CHARACTERS) if waited else "",
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
