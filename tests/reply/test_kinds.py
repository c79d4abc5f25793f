"""What each kind of letter says: what happened, what was kept, and what to do next."""

from dataclasses import replace

import pytest

from tests.reply.letters import (
    DRAWING,
    JOB,
    MAIL,
    NEWER,
    PHOTO,
    WORKING,
    Read,
    composed,
    job,
    mail,
    read,
    written,
)
from webordinary.core.facts import (
    Facts,
    FailureDetails,
    LiveFacts,
    PreviewFacts,
    RequestedChange,
    UndoFacts,
    UnfinishedWork,
)
from webordinary.core.failure import DemoObstacle, FailureKind, MailProblem
from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.letter_facts import Ending
from webordinary.core.mail import FINAL_LETTERS, KeptFile, Letter, LetterKind
from webordinary.core.outcome import interrupted_note
from webordinary.core.page_changes import PageChange, PageChangeKind
from webordinary.reply.context import Case

FIRST_LINE = "Change the homepage title to Spring Sale"
HEADING = PageChange(PageChangeKind.HEADING, old="Sale", new="Spring Sale")
BLUE = "Paint it blue\nall over"


def says(letter: Read, *words: str) -> None:
    """Both forms say it: nobody chooses which one their phone shows."""
    html = letter.html.replace("<b>", "“").replace("</b>", "”")
    for word in words:
        assert word in letter.text
        assert word in html


def is_silent_about(letter: Read, *words: str) -> None:
    for word in words:
        assert word not in letter.text
        assert word not in letter.html


@pytest.mark.parametrize("kind", sorted(FINAL_LETTERS | {LetterKind.ACCEPTED}))
def test_a_letter_about_a_job_quotes_the_first_line_of_the_wish(kind: LetterKind) -> None:
    """Somebody with three wishes under way must see at once which one this is about."""
    letter = written(kind, job(note="because"))
    says(letter, FIRST_LINE, JOB.id)
    is_silent_about(letter, "put the photo on top")


@pytest.mark.parametrize("kind", LetterKind)
def test_no_letter_shows_a_hole_or_a_word_of_the_machine_room(kind: LetterKind) -> None:
    letter = written(kind, job(note="because") if kind in FINAL_LETTERS else None)
    is_silent_about(letter, "${", "?edited", "None", "lane", "queue", "job", "claim", "preempt", "()")


def test_accepted_says_that_it_starts_in_a_moment() -> None:
    letter = written(LetterKind.ACCEPTED, JOB)
    says(letter, "your request is in", "next in line", "reply with what you would like instead", "stop")
    is_silent_about(letter, "earlier request", "being worked on")


def test_accepted_says_how_many_come_first() -> None:
    says(written(LetterKind.ACCEPTED, JOB, ahead=1), "One earlier request of yours comes first")
    says(written(LetterKind.ACCEPTED, JOB, ahead=3), "3 earlier requests of yours come first")


def test_accepted_says_that_it_is_being_worked_on() -> None:
    letter = written(LetterKind.ACCEPTED, WORKING, ahead=2)
    says(letter, "being worked on right now")
    is_silent_about(letter, "earlier request", "next in line", "host-7")


def test_accepted_does_not_count_the_request_that_it_interrupts() -> None:
    """The store says one is ahead, for that one has to end; it is stopped, so nobody waits for it."""
    letter = written(LetterKind.ACCEPTED, JOB, ahead=1, interrupts=JobId("01jq"))
    says(letter, "next in line", "Both are carried out together")
    is_silent_about(letter, "earlier request", "01jq ")


def test_accepted_lists_files_that_were_left_out_and_why() -> None:
    letter = written(LetterKind.ACCEPTED, JOB, mail(files=(PHOTO,), skipped=(DRAWING,)))
    says(
        letter, "tulips.jpg", "price list.svg: SVG drawings can carry programs; please send it as PNG or JPEG"
    )


def test_done_says_what_changed_where_to_look_and_how_to_undo() -> None:
    letter = written(
        LetterKind.DONE,
        job(JobState.DONE),
        mail(files=(PHOTO,), skipped=(DRAWING,)),
        note="Changed the title.\nPut the photo on top.",
        preview=PreviewFacts("c1", address="https://edit.amelia.example/?a=1&b=2"),
    )
    says(
        letter,
        "Done!",
        "amelia",
        "Changed the title.",
        "Put the photo on top.",
        "price list.svg",
    )
    says(letter, "“undo”", "“publish”")
    assert "https://edit.amelia.example/?a=1&b=2" in letter.text
    assert 'href="https://edit.amelia.example/?a=1&amp;b=2"' in letter.html


def test_done_without_a_preview_promises_none() -> None:
    letter = written(LetterKind.DONE, job(JobState.DONE), preview=PreviewFacts("c1"))
    is_silent_about(letter, "publish", "look", "http")


@pytest.mark.parametrize(
    "link", ["javascript:alert(1)", 'https://x/"onclick="y', "https://x/\n\nhi", "ftp://x"]
)
def test_a_link_that_is_no_web_address_is_left_out(link: str) -> None:
    """The preview's address passes through files that an agent can write."""
    letter = written(LetterKind.DONE, job(JobState.DONE), preview=PreviewFacts("c1", address=link))
    is_silent_about(letter, "Have a look", "javascript", "onclick", "ftp:")


@pytest.mark.parametrize(
    ("intent", "words"),
    [
        (Intent.UNDO, ("taken back", "“redo”")),
        (Intent.REDO, ("is there again", "“undo”")),
        (Intent.PUBLISH, ("shows this to everybody", "Then reply “publish”")),
    ],
)
def test_done_fits_what_was_asked_for(intent: Intent, words: tuple[str, ...]) -> None:
    letter = written(LetterKind.DONE, job(JobState.DONE, intent=intent))
    says(letter, *words)
    is_silent_about(letter, "has been changed")


def test_done_that_changed_nothing_says_so_and_offers_no_undo() -> None:
    """An undo would take back an older change, which nobody spoke of."""
    about = job(JobState.DONE)
    note, answered = "The title says Spring Sale already.", mail(files=(PHOTO,))
    letter = written(LetterKind.DONE, about, answered, note=note, unused_files=(PHOTO.name,), unchanged=True)
    says(
        letter,
        "Nothing was changed.",
        "The title says Spring Sale already.",
        "Files that are not on the site as you sent them:",
    )
    is_silent_about(letter, "Done!", "has been changed", "undo", "Files I used")


def test_an_undo_names_what_it_took_back() -> None:
    """A second one may have moved on to what was asked for in another conversation."""
    about = job(JobState.DONE, intent=Intent.UNDO)
    letter = written(LetterKind.DONE, about, note="Taken back: New hours", undo=UndoFacts("New hours"))
    says(letter, "has been taken back: “New hours”", "“redo”")
    is_silent_about(letter, "The last change", "What I did", "another conversation")
    letter = written(LetterKind.DONE, about, undo=UndoFacts("New hours", elsewhere=True))
    says(letter, "made in another conversation")
    redone = written(LetterKind.DONE, job(JobState.DONE, intent=Intent.REDO), undo=UndoFacts("New hours"))
    says(redone, "is there again: “New hours”", "“undo”")


@pytest.mark.parametrize(
    ("undo", "words"),
    [
        (
            UndoFacts(stopped=BLUE),
            ("I stopped.", "still working on “Paint it blue”", "nothing else was taken back"),
        ),
        (UndoFacts(never_made=BLUE), ("nothing to take back", "“Paint it blue” did not change anything")),
    ],
)
def test_an_undo_that_came_before_the_change_says_that_nothing_else_was_undone(
    undo: UndoFacts, words: tuple[str, ...]
) -> None:
    about = job(JobState.DONE, intent=Intent.UNDO)
    letter = written(LetterKind.DONE, about, undo=undo)
    says(letter, *words, "reply “undo” again")
    is_silent_about(letter, "Done!", "has been taken back", "redo", "all over")


def test_published_says_what_went_live_and_that_undo_alone_does_not_take_it_back() -> None:
    letter = written(
        LetterKind.DONE,
        job(JobState.DONE, intent=Intent.PUBLISH),
        note="Everybody sees it now.",
        live=LiveFacts(
            "",
            changes=(HEADING, PageChange(PageChangeKind.PAGE_ADDED, page="Team")),
            by_others=(RequestedChange("tara", "Change the opening hours"),),
            later=(RequestedChange("", "Paint it blue"),),
        ),
    )
    says(letter, "The heading on your home page now says “Spring Sale”.", "There is a new page, “Team”.")
    says(letter, "of other people", "tara: “Change the opening hours”", "you: “Paint it blue”")
    says(letter, "after the preview you had", "everybody still sees what is live now")
    is_silent_about(letter, "get the site back as it was")


def test_published_again_says_that_everybody_saw_it_already() -> None:
    about = job(JobState.DONE, intent=Intent.PUBLISH)
    letter = written(LetterKind.DONE, about, live=LiveFacts("", unchanged=True))
    says(letter, "exactly like this already")
    is_silent_about(letter, "now shows this", "undo")


def test_files_are_called_as_their_sender_calls_them() -> None:
    small = KeptFile("image-1.png", "image/png", "b", "small.jpg")
    big = KeptFile("image-2.jpg", "image/jpeg", "b", "big.jpg")
    answered = mail(files=(small, big))
    letter = written(LetterKind.DONE, job(JobState.DONE), answered, unused_files=("image-2.jpg",))
    says(letter, "big.jpg")
    is_silent_about(letter, "image-2.jpg", "image-1.png")
    accepted = written(LetterKind.ACCEPTED, JOB, answered)
    says(accepted, "small.jpg", "big.jpg")
    is_silent_about(accepted, "image-1.png")


def test_two_files_of_one_name_are_told_apart() -> None:
    """A phone calls every photo the same."""
    files = tuple(KeptFile(f"image-{number}.jpg", "image/jpeg", "b", "image.jpg") for number in (1, 2))
    letter = written(LetterKind.DONE, job(JobState.DONE), mail(files=files), unused_files=("image-2.jpg",))
    says(letter, "image.jpg (image-2.jpg)")


def test_done_tells_what_is_different_once_and_in_a_visitors_words() -> None:
    """The agent's own summary says the same, perhaps with file names: it is left out."""
    photo = PageChange(PageChangeKind.PICTURE, new="IMG_2031.JPG", mailed=True)
    preview = PreviewFacts("c1", changes=(HEADING, photo))
    letter = written(LetterKind.DONE, job(JobState.DONE), preview=preview, note="index.html: new title")
    says(letter, "The heading on your home page now says “Spring Sale”.")
    says(letter, "The picture on your home page is now your IMG_2031.JPG.")
    is_silent_about(letter, "index.html", "What I did")


def test_done_has_the_agents_words_where_the_pages_say_little() -> None:
    look = PreviewFacts("c1", changes=(PageChange(PageChangeKind.LOOK),))
    letter = written(LetterKind.DONE, job(JobState.DONE), preview=look, note="The background is blue now.")
    says(letter, "The background is blue now.")
    is_silent_about(letter, "Colours, fonts")
    says(written(LetterKind.DONE, job(JobState.DONE), preview=look), "Colours, fonts or layout have changed.")


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
