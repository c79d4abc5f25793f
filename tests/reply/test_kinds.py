"""What each kind of letter says: what happened, what was kept, and what to do next."""

import pytest

from tests.reply.letters import (
    DRAWING,
    JOB,
    PHOTO,
    WORKING,
    is_silent_about,
    job,
    mail,
    says,
    written,
)
from webordinary.core.facts import (
    LiveFacts,
    PreviewFacts,
    RequestedChange,
    UndoFacts,
)
from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.mail import FINAL_LETTERS, KeptFile, LetterKind
from webordinary.core.page_changes import PageChange, PageChangeKind

FIRST_LINE = "Change the homepage title to Spring Sale"
HEADING = PageChange(PageChangeKind.HEADING, old="Sale", new="Spring Sale")
BLUE = "Paint it blue\nall over"


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
