"""Facts are written as JSON and read back as they were; rows of the release before are read, too."""

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.any_value import any_value
from webordinary.backends.facts_json import (
    facts_from_json,
    facts_to_json,
    letter_facts_from_json,
)
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
from webordinary.core.job import JobId, JobState
from webordinary.core.mail import FACTS_OF, LetterKind
from webordinary.core.outcome import Verdict
from webordinary.core.page_changes import PageChange, PageChangeKind
from webordinary.core.release import BrokenLink

# As 0.1.0 stored the facts of an edit, in one of its rows.
OLD_EDIT = {
    "agent": "claude",
    "agent_session": "blob1",
    "recap": "Asked: Paint it — painted\nPublished: the preview was made live",
    "since": "Published: the preview was made live",
    "shown_commit": "c0",
    "commit": "c1",
    "release": "r2",
    "former_release": "r1",
    "preview": "http://sites.example/preview/amelia/",
    "publishable": "yes",
    "changes": '[{"kind": "text", "old": "a", "new": "b", "path": "index.html"}]',
    "warnings": "index.html: the link to x.html leads nowhere",
    "broken_links": '[["", "x.html"]]',
    "broken_links_more": "2",
    "patch": "blob2",
    "pictures": "- blob3 index.html\nblob4 blob5 about us.html",
    "used": "photo.jpg",
    "unused": "other.jpg\nmore.jpg",
    "also": "Paint it\nblue",
    "read_quote": "yes",
}
EDIT = Facts(
    preview=PreviewFacts(
        commit="c1",
        release="r2",
        former_release="r1",
        address="http://sites.example/preview/amelia/",
        changes=(PageChange(PageChangeKind.TEXT, old="a", new="b", path="index.html"),),
        broken_links=(BrokenLink("", "x.html"),),
        more_broken_links=2,
        patch="blob2",
        pictures=(PagePictures("index.html", "", "blob3"), PagePictures("about us.html", "blob4", "blob5")),
    ),
    also=("Paint it", "blue"),
    used_files=("photo.jpg",),
    unused_files=("other.jpg", "more.jpg"),
    read_quote=True,
    memory=SessionMemory(
        "claude",
        "blob1",
        ("Asked: Paint it — painted", "Published: the preview was made live"),
        ("Published: the preview was made live",),
        "c1",
    ),
)
OLD_PUBLISH = {
    "preview": "http://sites.example/live/amelia/",
    "live": "http://sites.example/live/amelia/",
    "live_changes": '[{"kind": "page_added", "page": "Team"}]',
    "live_by_others": '[["tara", "Change the hours"]]',
    "live_later": '[["", "Paint it"]]',
    "upstream_apart": "yes",
    "warnings": "upstream changed the same lines, and is not live: index.html",
}
OLD_FAILURE = {
    "unfinished": "Rebuild it",
    "unfinished_why": "It broke.",
    "unfinished_ref": "refs/aside/1",
    "unfinished_commit": "c9",
    "unfinished_files": "a.html\nb.html",
    "unfinished_before": '[["Before that", "c8", ""]]',
    "demo_obstacle": "no_page",
    "demo_about": "Contcat",
}


def read_old(facts: dict[str, str]) -> Facts:
    return facts_from_json(json.dumps(facts))


def test_what_the_release_before_left_of_an_edit_is_read() -> None:
    """The next job of a conversation goes on from a row that was written before the update."""
    assert read_old(OLD_EDIT) == EDIT
    assert read_old({}) == NO_FACTS == facts_from_json(None)


def test_what_the_release_before_left_of_a_publish_an_undo_and_a_failure_is_read() -> None:
    live = read_old(OLD_PUBLISH).live
    assert live is not None
    assert live == LiveFacts(
        "http://sites.example/live/amelia/",
        (PageChange(PageChangeKind.PAGE_ADDED, "Team"),),
        later=(RequestedChange("", "Paint it"),),
        by_others=(RequestedChange("tara", "Change the hours"),),
        upstream_conflicts=live.upstream_conflicts,
    )
    assert "index.html" in live.upstream_conflicts[0]
    assert read_old({"live": "x", "live_unchanged": "yes"}).live == LiveFacts("x", unchanged=True)
    assert read_old({"turned": "x", "turned_elsewhere": "yes"}).undo == UndoFacts("x", elsewhere=True)
    assert read_old({"never_made": "x"}).undo == UndoFacts(never_made="x")
    assert read_old({"unchanged": "yes"}) == Facts(unchanged=True)
    assert read_old(OLD_FAILURE) == Facts(
        failure=FailureDetails("", "Contcat", DemoObstacle.NO_PAGE),
        unfinished=UnfinishedWork("Rebuild it", "c9", "It broke.", "refs/aside/1", ("a.html", "b.html")),
        unfinished_before=(UnfinishedWork("Before that", "c8"),),
    )


def test_letters_that_the_release_before_owed_are_read() -> None:
    """Those that wait while the service is updated are sent after it."""
    ending = {**OLD_EDIT, "note": "Painted.", "failure": "conflict"}
    old: dict[LetterKind, tuple[dict[str, str], LetterFacts | None]] = {
        LetterKind.ACCEPTED: ({"ahead": "2", "interrupts": "j1"}, Accepted(2, JobId("j1"))),
        LetterKind.DONE: (ending, Ending("Painted.", FailureKind.CONFLICT, facts=EDIT)),
        LetterKind.PREEMPTED: ({"note": "stopped"}, Ending("stopped")),
        LetterKind.CONFIRM: ({"token": "t", "excerpt": "e"}, Question("t", "e")),
        LetterKind.SET_ASIDE: ({"token": "t", "excerpt": "e"}, Question("t", "e")),
        LetterKind.REFUSED: ({"project": "bravo"}, NotAMember("bravo")),
        LetterKind.ASKED: ({"projects": "amelia\nbravo"}, ProjectChoice(("amelia", "bravo"))),
        LetterKind.UNCLEAR: ({"words": "publish?"}, UnclearWords("publish?")),
        LetterKind.UNREADABLE: ({"problem": "encrypted"}, MailFault(MailProblem.ENCRYPTED)),
        LetterKind.STOPPED: ({"job": "j1", "jobs": "j1 j2"}, StopRequest((JobId("j1"), JobId("j2")))),
        LetterKind.STATUS: (
            {"project": "amelia", "running": "x", "waiting": "3", "previewed": "a\nb", "live": "l"},
            StatusReport("amelia", "x", 3, (RequestedChange("", "a"), RequestedChange("", "b")), live="l"),
        ),
        LetterKind.HELP: ({}, None),
        LetterKind.OVER_QUOTA: ({}, None),
    }
    for kind, (facts, read) in old.items():
        assert letter_facts_from_json(kind, json.dumps(facts)) == read


ANY_TEXT = st.text() | st.just("\x00\ud800")
ANY_FACTS_OF = st.sampled_from(sorted(FACTS_OF)).flatmap(
    lambda kind: st.tuples(st.just(kind), any_value(FACTS_OF[kind], ANY_TEXT))
)


@settings(max_examples=100, deadline=None)
@given(facts=any_value(Facts, ANY_TEXT))
def test_what_a_job_left_is_read_as_it_was_written(facts: Facts) -> None:
    assert facts_from_json(facts_to_json(facts)) == facts


@settings(max_examples=150, deadline=None)
@given(given_to=ANY_FACTS_OF)
def test_the_facts_of_a_letter_are_read_as_they_were_written(
    given_to: tuple[LetterKind, LetterFacts],
) -> None:
    kind, facts = given_to
    assert letter_facts_from_json(kind, facts_to_json(facts)) == facts
    assert letter_facts_from_json(kind, facts_to_json(None)) is None


def test_a_field_of_a_later_version_is_passed_over() -> None:
    """Two versions run side by side while workers are replaced."""
    row = json.loads(facts_to_json(EDIT))
    row["mood"], row["preview"]["mood"] = "sunny", ["sunny"]
    assert facts_from_json(json.dumps(row)) == EDIT


def test_what_no_store_could_keep_is_replaced_in_every_text() -> None:
    """A job that could not be settled would run again and again."""
    left = Facts(also=("a\x00b",), unfinished=UnfinishedWork("\ud800", files=("c\x00",)))
    kept = Facts(also=("a?b",), unfinished=UnfinishedWork("?", files=("c?",)))
    assert Verdict(JobState.DONE, "d\x00", facts=left) == Verdict(JobState.DONE, "d?", facts=kept)
