"""What letters say of requests that were interrupted, failed or refused, and of questions."""

from dataclasses import replace

import pytest

from tests.reply.letters import (
    JOB,
    MAIL,
    NEWER,
    composed,
    is_silent_about,
    job,
    mail,
    read,
    says,
    written,
)
from webordinary.core.facts import (
    Ending,
    Facts,
    FailureDetails,
    UnfinishedWork,
)
from webordinary.core.failure import DemoObstacle, FailureKind, MailProblem
from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.mail import Letter, LetterKind
from webordinary.core.outcome import interrupted_note
from webordinary.reply.context import Case

FIRST_LINE = "Change the homepage title to Spring Sale"


UNDO = replace(NEWER, intent=Intent.UNDO)


def test_preempted_says_which_newer_wish_came_first() -> None:
    note = interrupted_note(NEWER.id)
    about = job(JobState.PREEMPTED, interrupted=True, interrupted_by=NEWER.id, note=note)
    letter = written(LetterKind.PREEMPTED, about, other=UNDO)
    says(letter, "I stopped working on this", "No, call it Summer Sale", "kept aside", "as it was before")
    is_silent_about(letter, NEWER.id, "together")


def test_preempted_says_that_both_are_carried_out_together() -> None:
    """Nobody is asked to send a request again that is being carried out."""
    about = job(JobState.PREEMPTED, interrupted=True, interrupted_by=NEWER.id)
    letter = written(LetterKind.PREEMPTED, about, other=NEWER)
    says(letter, "No, call it Summer Sale", "Both are carried out together", "need not send anything again")
    is_silent_about(letter, "Send it again", "I stopped", NEWER.id)


def test_done_and_failed_tell_of_the_request_that_was_taken_over() -> None:
    for kind, state in ((LetterKind.DONE, JobState.DONE), (LetterKind.FAILED, JobState.FAILED)):
        says(written(kind, job(state), also=("Paint it blue",), note="So."), "asked for", "Paint it blue")
        is_silent_about(written(kind, job(state), note="So."), "asked for")


def test_preempted_before_it_started_says_so() -> None:
    about = job(JobState.PREEMPTED, started_at=None)
    letter = written(LetterKind.PREEMPTED, about, other=NEWER, by=NEWER.id)
    says(letter, "had not started", "No, call it Summer Sale")
    is_silent_about(letter, "kept", NEWER.id)


def test_preempted_by_a_word_of_a_person_names_no_newer_wish() -> None:
    letter = written(
        LetterKind.PREEMPTED, job(JobState.PREEMPTED, interrupted=True), note=interrupted_note(None)
    )
    says(letter, "You asked for it")
    is_silent_about(letter, "newer", "operator")


def test_failed_says_why_what_is_kept_and_what_to_do() -> None:
    note = "There is no page “Contcat”.\nPages: index, contact."
    letter = written(LetterKind.FAILED, job(JobState.FAILED), note=note, failure=FailureKind.DECLINED)
    says(
        letter,
        "There is no page",
        "Pages: index, contact.",
        "as it was before",
        "reply and say it in other words",
    )


@pytest.mark.parametrize("intent", [Intent.UNDO, Intent.REDO, Intent.PUBLISH])
def test_failed_asks_nobody_to_say_one_word_in_other_words(intent: Intent) -> None:
    letter = written(LetterKind.FAILED, job(JobState.FAILED, intent=intent), note="No.")
    says(letter, "What you can do")
    is_silent_about(letter, "in other words")


def test_failed_says_what_was_kept_aside_and_how_to_go_on() -> None:
    """An hour of work that hit a limit is not lost, and its owner should know."""
    work = UnfinishedWork("Make it new", "c1", files=("index.html", "about.html"))
    letter = written(LetterKind.FAILED, job(JobState.FAILED), note="Too long.", unfinished=work)
    says(letter, "kept aside", "as it was before", "say how to go on")
    is_silent_about(letter, "in other words", "about.html")


def test_failed_without_a_kind_says_who_can_find_out() -> None:
    letter = written(LetterKind.FAILED, job(JobState.FAILED), note="KeyError: 'x'")
    says(letter, "Something went wrong on our side", "noted for the person who looks after this service")
    is_silent_about(letter, "KeyError")


@pytest.mark.parametrize("kind", sorted(set(FailureKind) - {FailureKind.DECLINED}))
def test_every_kind_of_failure_is_one_plain_sentence_and_no_detail(kind: FailureKind) -> None:
    letter = written(LetterKind.FAILED, job(JobState.FAILED), note="exit code 3 in build.sh", failure=kind)
    says(letter, "Your site is as it was before, and your mail is kept.")
    is_silent_about(letter, "build.sh", "exit code", "${")


def test_the_demo_agent_declines_as_the_demo_agent_and_says_what_it_can() -> None:
    details = FailureDetails(words="Contcat", demo=DemoObstacle.NO_PAGE)
    ending = Ending(failure=FailureKind.DEMO, facts=Facts(failure=details))
    about = job(JobState.FAILED)
    letter = read(composed(Letter(about.id, LetterKind.FAILED, facts=ending), Case(MAIL, about)).content)
    says(letter, "I am only the demo agent", "There is no page called “Contcat”.", "With a coding agent")
    assert '- Change the homepage title to "Spring Sale"' in letter.text


def test_dead_says_how_often_it_was_tried_and_that_nothing_is_lost() -> None:
    about, kind = job(JobState.DEAD, attempt=5), FailureKind.MODEL_UNREACHABLE
    letter = written(LetterKind.DEAD, about, note="HTTP 529 from api.example", failure=kind)
    says(letter, "5 times", "could not be reached", "Your request is kept", "need not send it twice")
    is_silent_about(letter, "529")


def test_a_long_reason_is_cut_to_what_a_phone_shows() -> None:
    note = "\n".join(f"line {n}" for n in range(500))
    letter = written(LetterKind.FAILED, job(JobState.FAILED), note=note, failure=FailureKind.DECLINED)
    assert "line 11" in letter.text
    assert "line 12" not in letter.text
    assert "…" in letter.text


def test_refused_says_why_and_that_nothing_changed() -> None:
    stranger = mail(lane=None, session=None)
    letter = written(LetterKind.REFUSED, answered=stranger)
    says(letter, f"{MAIL.from_address} is not registered for any site", "About your mail “Spring sale”")
    says(letter, "Nothing was changed")
    letter = written(LetterKind.REFUSED, answered=stranger, project="bravo")
    says(letter, f"{MAIL.from_address} is not registered for the site bravo")


def test_asked_lists_the_projects_and_can_be_answered_with_one_word() -> None:
    letter = written(LetterKind.ASKED, answered=mail(session=None), projects=("amelia", "bravo"))
    says(letter, "Which site", "amelia", "bravo", "reply with its name only", "need not write it again")
    assert letter["Reply-To"] == "Webordinary <edit@webordinary.example>"
    assert letter["In-Reply-To"] == MAIL.message_id


def test_confirm_is_answered_at_an_address_that_only_its_reader_knows() -> None:
    """Whoever answers there has read this letter, and so reads the mailbox on file."""
    token = f"confirm-{MAIL.id}"
    words = "Delete the shop <b>now</b>, see https://evil.example/x"
    letter = written(LetterKind.CONFIRM, answered=mail(session=None), token=token, excerpt=words)
    says(letter, "Was this you?", "I have done nothing yet", "do nothing", "Spring sale", "Delete the shop")
    assert "<b>now" not in letter.html
    is_silent_about(letter, "evil.example")  # we do not carry a stranger's links into mailboxes
    address = letter.message["Reply-To"].addresses[0].addr_spec
    assert address.startswith(f"edit+{token}.")
    assert f'href="mailto:{address.replace("+", "%2B")}?' in letter.html
    is_silent_about(letter, "You wrote", "About your mail")


def test_over_quota_says_when_to_write_again() -> None:
    says(written(LetterKind.OVER_QUOTA), "not carried out", "in about an hour")


def test_unreadable_says_why_and_what_to_do() -> None:
    letter = written(LetterKind.UNREADABLE, problem=MailProblem.TOO_LONG)
    says(letter, "There is too much in it.", "Nothing was changed", "Please write it again")


def test_help_names_every_word_that_is_understood() -> None:
    says(written(LetterKind.HELP), "undo", "redo", "publish", "stop", "status")


def test_status_says_what_runs_and_what_waits() -> None:
    says(
        written(LetterKind.STATUS, running="Change it\nnow", waiting=1),
        "“Change it”",
        "One request of yours",
    )
    says(written(LetterKind.STATUS, waiting=4), "4 requests of yours are waiting")
    idle = written(LetterKind.STATUS, waiting=0)
    says(idle, "Nothing is being done")
    is_silent_about(idle, "waiting for", "“stop”")


def test_stopped_says_what_was_stopped_or_that_there_was_nothing() -> None:
    says(written(LetterKind.STOPPED, other=JOB, jobs=(JOB.id,)), "I stopped.", FIRST_LINE, "is kept")
    nothing = written(LetterKind.STOPPED)
    says(nothing, "There was nothing to stop.")
    is_silent_about(nothing, "I stopped.", "is kept")


def test_no_letter_repeats_the_ids_of_other_jobs() -> None:
    about = job(JobState.PREEMPTED, interrupted_by=JobId("01jq3k9000000000"), interrupted=True)
    is_silent_about(written(LetterKind.PREEMPTED, about, other=NEWER), "01jq3k9000000000")
