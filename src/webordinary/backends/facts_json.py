"""Facts as every store keeps them: JSON with a version. Rows of releases before are read, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from webordinary.core.facts import (
    NO_FACTS,
    Accepted,
    Ending,
    Facts,
    FailureDetails,
    LetterFacts,
    LiveFacts,
    MailFault,
    NotAMember,
    PagePictures,
    PreviewFacts,
    ProjectChoice,
    Question,
    RequestedChange,
    SessionMemory,
    StatusReport,
    StopRequest,
    UnclearWords,
    UndoFacts,
    UnfinishedWork,
)
from webordinary.core.failure import DemoObstacle, FailureKind, MailProblem
from webordinary.core.job import JobId
from webordinary.core.json_codec import decode, encode
from webordinary.core.mail import FACTS_OF, LetterKind
from webordinary.core.page_changes import PageChange
from webordinary.core.release import BrokenLink

VERSION = 2  # without one: texts by name, as 0.1 wrote them


def facts_tree(facts: Facts | LetterFacts) -> dict[str, Any]:
    """What is written of facts."""
    return {"v": VERSION, **encode(facts)}


def facts_to_json(facts: Facts | LetterFacts | None) -> str:
    """Write the facts of a job or of a letter."""
    return json.dumps(None if facts is None else facts_tree(facts))


def facts_from_json(text: str | None) -> Facts:
    """Read what a job left."""
    given = json.loads(text) if text else None
    if given is None:
        return NO_FACTS
    return decode(Facts, given) if "v" in given else _old_facts(given)


def letter_facts_from_json(kind: LetterKind, text: str) -> LetterFacts | None:
    """Read what a letter is told."""
    given, wanted = json.loads(text), FACTS_OF.get(kind)
    if given is None or wanted is None:
        return None
    return decode(wanted, given) if "v" in given else _old_letter_facts(kind, given)


# --- as 0.1 wrote them: texts by name, lists with an item a line, some with JSON inside --------------------

Texts = Mapping[str, str]


def _old_letter_facts(kind: LetterKind, old: Texts) -> LetterFacts | None:
    match kind:
        case LetterKind.ACCEPTED:
            return Accepted(_number(old.get("ahead", "")), JobId(old.get("interrupts", "")) or None)
        case LetterKind.CONFIRM | LetterKind.SET_ASIDE:
            return Question(old.get("token", ""), old.get("excerpt", ""))
        case LetterKind.REFUSED:
            return NotAMember(old.get("project", ""))
        case LetterKind.ASKED:
            return ProjectChoice(_lines(old, "projects"))
        case LetterKind.UNCLEAR:
            return UnclearWords(old.get("words", ""))
        case LetterKind.UNREADABLE:
            return MailFault(MailProblem(old.get("problem") or MailProblem.DAMAGED))
        case LetterKind.STOPPED:
            return StopRequest(tuple(JobId(job) for job in old.get("jobs", "").split()))
        case LetterKind.STATUS:
            return StatusReport(
                old.get("project", ""),
                old.get("running", ""),
                _number(old.get("waiting", "")),
                tuple(RequestedChange("", line) for line in _lines(old, "previewed")),
                old.get("preview", ""),
                old.get("live", ""),
            )
        case LetterKind.HELP | LetterKind.OVER_QUOTA:
            return None
        case _:
            failure = FailureKind(old["failure"]) if "failure" in old else None
            return Ending(old.get("note", ""), failure, facts=_old_facts(old))


def _old_facts(old: Texts) -> Facts:
    return Facts(
        preview=_old_preview(old),
        live=_old_live(old),
        undo=_old_undo(old),
        failure=_old_failure(old),
        unchanged="unchanged" in old,
        also=_lines(old, "also"),
        used_files=_lines(old, "used"),
        unused_files=_lines(old, "unused"),
        read_quote="read_quote" in old,
        read_ending="read_ending" in old,
        unfinished=_old_unfinished(old),
        unfinished_before=tuple(
            UnfinishedWork(request, commit, why)
            for request, commit, why in json.loads(old.get("unfinished_before", "[]"))
        ),
        memory=SessionMemory(
            old.get("agent", ""),
            old.get("agent_session", ""),
            _lines(old, "recap"),
            _lines(old, "since"),
            old.get("commit") or old.get("shown_commit", ""),
        ),
    )


def _old_preview(old: Texts) -> PreviewFacts | None:
    if "commit" not in old:
        return None
    pictures = [line.split(" ", 2) for line in _lines(old, "pictures")]
    return PreviewFacts(
        commit=old["commit"],
        release=old.get("release", ""),
        former_release=old.get("former_release", ""),
        address=old.get("preview", ""),
        changes=_changes(old, "changes"),
        broken_links=tuple(
            BrokenLink("", target, title) for title, target in json.loads(old.get("broken_links", "[]"))
        ),
        more_broken_links=_number(old.get("broken_links_more", "")),
        patch=old.get("patch", ""),
        pictures=tuple(
            PagePictures(page, "" if before == "-" else before, after) for before, after, page in pictures
        ),
    )


def _old_live(old: Texts) -> LiveFacts | None:
    if "live" not in old and "live_unchanged" not in old:
        return None
    return LiveFacts(
        address=old.get("live", ""),
        changes=_changes(old, "live_changes"),
        unchanged="live_unchanged" in old,
        later=_requested(old, "live_later"),
        by_others=_requested(old, "live_by_others"),
        upstream_conflicts=(old.get("warnings", ""),) if "upstream_apart" in old else (),
    )


def _old_undo(old: Texts) -> UndoFacts | None:
    if not {"turned", "stopped", "never_made"} & old.keys():
        return None
    return UndoFacts(
        old.get("turned", ""),
        "turned_elsewhere" in old,
        old.get("stopped", ""),
        old.get("never_made", ""),
    )


def _old_failure(old: Texts) -> FailureDetails | None:
    if not {"failure_who", "failure_words", "demo_obstacle"} & old.keys():
        return None
    demo = old.get("demo_obstacle", "")
    words = old.get("demo_about") or old.get("failure_words", "")
    return FailureDetails(old.get("failure_who", ""), words, DemoObstacle(demo) if demo else None)


def _old_unfinished(old: Texts) -> UnfinishedWork | None:
    if "unfinished" not in old:
        return None
    return UnfinishedWork(
        old["unfinished"],
        old.get("unfinished_commit", ""),
        old.get("unfinished_why", ""),
        old.get("unfinished_ref", ""),
        _lines(old, "unfinished_files"),
    )


def _requested(old: Texts, name: str) -> tuple[RequestedChange, ...]:
    return tuple(RequestedChange(user, request) for user, request in json.loads(old.get(name, "[]")))


def _changes(old: Texts, name: str) -> tuple[PageChange, ...]:
    text = old.get(name, "")
    return tuple(decode(PageChange, one) for one in json.loads(text)) if text.startswith("[{") else ()


def _lines(old: Texts, name: str) -> tuple[str, ...]:
    return tuple(line for line in old.get(name, "").split("\n") if line)


def _number(text: str) -> int:
    return int(text) if text.isascii() and text.isdecimal() else 0
