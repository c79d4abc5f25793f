"""Letters are written in their sender's language, all of them, and say nothing of the machine room."""

import re
from collections.abc import Sequence
from dataclasses import replace
from importlib.resources import files
from string import Formatter

import pytest

from tests.reply.letters import DRAWING, JOB, NEWER, PHOTO, job, mail, written
from webordinary.agents.demo.requests import understood
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
    PreviewFacts,
    ProjectChoice,
    Question,
    RequestedChange,
    StatusReport,
    StopRequest,
    UnclearWords,
    UndoFacts,
    UnfinishedWork,
)
from webordinary.core.failure import DemoObstacle, FailureKind, MailProblem
from webordinary.core.job import Intent, JobId, JobState
from webordinary.core.language import Language
from webordinary.core.mail import FINAL_LETTERS, FileProblem, Letter, LetterKind, SkippedFile
from webordinary.core.outcome import interrupted_note
from webordinary.core.page_changes import PageChange, PageChangeKind
from webordinary.core.release import BrokenLink
from webordinary.identify.intent import Wish, read_wish, says_yes
from webordinary.reply.context import Case, context_of
from webordinary.reply.rendering import LetterForm, phrases, rendered

OTHERS = [language for language in Language if language is not Language.ENGLISH]
# Words that none of the other languages has.
ENGLISH = frozenset(
    {"the", "your", "you", "and", "please", "reply", "with", "this", "that", "what", "changed", "nothing"}
    | {"kept", "sorry", "from", "have", "it", "to", "of", "is", "are", "not", "could", "which", "there"}
    | {"been", "has", "will", "again", "wish", "request", "now", "home", "heading", "new", "more"}
)
WISH, SAID = "Xyzzy", "Quux"  # what people and agents write
EVERY_CHANGE = tuple(
    PageChange(kind, "Plugh", old=WISH, new=SAID, target="xyzzy.example", count=7, mailed=mailed, pages=pages)
    for kind in PageChangeKind
    for mailed in (True, False)
    for pages in (1, 3)
)
LINKS = (BrokenLink("a.html", WISH), BrokenLink("b.html", WISH, "Plugh"))
LEFT = [
    NO_FACTS,
    Facts(unchanged=True),
    Facts(preview=PreviewFacts("c1", changes=EVERY_CHANGE), unused_files=(PHOTO.name,)),
    Facts(preview=PreviewFacts("c1", address="https://xyzzy.example/")),
    Facts(preview=PreviewFacts("c1", broken_links=LINKS, more_broken_links=3)),
    Facts(live=LiveFacts("", EVERY_CHANGE, by_others=(RequestedChange("Tara", WISH),))),
    Facts(live=LiveFacts("https://xyzzy.example/", later=(RequestedChange("", WISH),))),
    Facts(live=LiveFacts("", unchanged=True)),
    Facts(live=LiveFacts("", upstream_conflicts=("plugh.html",))),
    Facts(undo=UndoFacts(WISH, elsewhere=True)),
    Facts(undo=UndoFacts(stopped=WISH)),
    Facts(undo=UndoFacts(never_made=WISH)),
    Facts(also=(WISH, SAID)),
    Facts(read_quote=True),
    Facts(read_ending=True),
    Facts(unfinished=UnfinishedWork(WISH, files=("a.html",))),
]
ENDINGS = [
    *(Ending(note, facts=facts) for note in ("", SAID) for facts in LEFT),
    *(Ending(SAID, kind, facts=Facts(failure=FailureDetails("Tara", WISH))) for kind in FailureKind),
    *(
        Ending(SAID, FailureKind.DEMO, facts=Facts(failure=FailureDetails("", WISH, one)))
        for one in DemoObstacle
    ),
]
REPORTS = [
    StatusReport(),
    StatusReport("amelia", WISH, 1, preview="https://xyzzy.example/"),
    StatusReport("amelia", waiting=5, live="https://xyzzy.example/"),
    StatusReport(
        "amelia", previewed=(RequestedChange("Tara", WISH), RequestedChange("", WISH, taken_back=True))
    ),
]
SAMPLES: dict[LetterKind, Sequence[LetterFacts]] = {
    LetterKind.ACCEPTED: [Accepted(), Accepted(1), Accepted(4), Accepted(1, JobId("j1"))],
    **dict.fromkeys(FINAL_LETTERS, ENDINGS),
    LetterKind.CONFIRM: [Question("confirm-1", WISH)],
    LetterKind.SET_ASIDE: [Question("aside-1", WISH)],
    LetterKind.REFUSED: [NotAMember(), NotAMember("amelia")],
    LetterKind.ASKED: [ProjectChoice(("amelia", "bravo"))],
    LetterKind.UNCLEAR: [UnclearWords(WISH)],
    LetterKind.UNREADABLE: [MailFault(problem) for problem in MailProblem],
    LetterKind.STOPPED: [StopRequest(), StopRequest((JobId("j1"),))],
    LetterKind.STATUS: REPORTS,
}
SKIPPED = tuple(SkippedFile("plugh.bin", problem) for problem in FileProblem)
MAIL = mail(
    subject=WISH,
    files=(PHOTO,),
    skipped=(DRAWING, *SKIPPED, SkippedFile("", FileProblem("what an older version kept"))),
)


def texts(kind: LetterKind, language: Language) -> list[str]:
    """The text of a letter of this kind for every sample, and for every kind of work if it is about a job."""
    answered = replace(MAIL, language=language)
    samples: list[LetterFacts | None] = [None, *SAMPLES.get(kind, [])]
    if kind not in FINAL_LETTERS | {LetterKind.ACCEPTED}:
        others = [None, replace(NEWER, instruction=WISH), replace(NEWER, instruction=WISH, started_at=None)]
        answers = [Case(answered, None, other) for other in others]
        return [_text(Letter(answered.id, kind, facts=facts), case) for facts in samples for case in answers]
    about = job(JobState.DONE, instruction=WISH, attempt=3, worker="host-7")
    other = replace(NEWER, instruction=WISH)
    jobs = [about, replace(about, state=JobState.RUNNING, started_at=None)]
    if kind in {LetterKind.DONE, LetterKind.FAILED}:
        jobs = [replace(about, intent=intent) for intent in Intent]
    if kind is LetterKind.PREEMPTED:
        taken_over = replace(about, state=JobState.PREEMPTED, interrupted_by=other.id)
        jobs += [taken_over, replace(about, interrupted=True, note=interrupted_note(None))]
    cases = [Case(answered, one, other) for one in jobs]
    return [_text(Letter(JOB.id, kind, facts=facts), case) for case in cases for facts in samples]


def _text(letter: Letter, case: Case) -> str:
    return rendered(LetterForm.TEXT, letter.kind, context_of(letter, case, "edit@x.example"), case.language)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("kind", LetterKind)
def test_nothing_english_is_in_a_letter_of_another_language(kind: LetterKind, language: Language) -> None:
    """A letter that is half English reads like a machine that failed."""
    for text in texts(kind, language):
        # What the demo agent understands is English, and quoted as such.
        own = re.sub(r"(?m)^- (?:Change|Replace|Add) .*$", "", text)
        words = set(re.findall(r"[^\W\d_]+", own.lower()))
        assert not words & ENGLISH, f"{words & ENGLISH} in {own}"
        assert not re.search(r"[{}]|\$\{", text), text


@pytest.mark.parametrize("language", Language)
def test_a_letter_says_which_language_it_is_in(language: Language) -> None:
    """Readers that speak, and programs that offer to translate, go by that."""
    letter = written(LetterKind.HELP, None, replace(MAIL, language=language))
    assert f'<html lang="{language}">' in letter.html
    assert letter["Content-Language"] == language


def facts_named(sentence: str | list[str]) -> list[set[str]]:
    sentences = [sentence] if isinstance(sentence, str) else sentence
    return [{name for _, name, _, _ in Formatter().parse(one) if name} for one in sentences]


@pytest.mark.parametrize("language", OTHERS)
def test_every_language_has_every_sentence_with_the_same_facts(language: Language) -> None:
    """A sentence that was added in one language only is found here."""
    english, other = phrases().sections, phrases(language).sections
    assert other.keys() == english.keys()
    for section, sentences in english.items():
        assert other[section].keys() == sentences.keys(), section
        for name, sentence in sentences.items():
            assert facts_named(other[section][name]) == facts_named(sentence), f"{section}.{name}"


def test_every_kind_of_change_failure_and_problem_has_its_sentence() -> None:
    sections = phrases().sections
    assert set(sections["change"]) == set(PageChangeKind)
    assert set(sections["failure"]) == set(FailureKind) - {FailureKind.DECLINED}
    assert set(sections["demo_obstacle"]) == set(DemoObstacle)
    assert set(sections["mail_problem"]) == set(MailProblem)
    assert set(sections["file_problem"]) == {kind.name.lower() for kind in FileProblem} | {"other"}


def test_a_letter_without_a_subject_to_answer_has_one_in_its_language() -> None:
    answered = replace(MAIL, subject="", message_id="", language=Language.GERMAN)
    assert written(LetterKind.HELP, None, answered)["Subject"] == "Re: Ihre Nachricht"


def test_a_mail_in_no_known_language_is_answered_in_english() -> None:
    assert "This is what you can write." in written(LetterKind.HELP, None, replace(MAIL, language=None)).text


@pytest.mark.parametrize("language", Language)
def test_the_demo_agent_understands_what_letters_say_it_can(language: Language) -> None:
    """An example that does not work is worse than none."""
    lines = phrases(language).sections["failed"]["demo_examples"]
    assert len(lines) == 4
    assert all(understood(line) for line in lines)


PLANTED = [
    "host-7",
    "Traceback (most recent call last):\n  File \"/home/x/build.py\", line 7, in <module>\nKeyError: 'x'",
    "fatal: unable to access 'https://x-token:ghp_abcdefghijklmnop1234@git.example/site.git/'",
    "/home/webordinary/work/amelia/index.html",
    "error: failed to push some refs to 'origin'",
    "see https://files.example/a?token=t0ps3cret",
    "    at build (/srv/app/node_modules/x/index.js:10:5)",
    "the program ended with exit code 137",
    "1a2b3c4d5e6f1a2b3c4d5e6f1a2b3c4d5e6f1a2b",
]
TELL_TALE = re.compile(
    r"host-7|Traceback|KeyError|File \"|fatal:|error:|/home|/srv|ghp_|s3cret|token|origin|exit code|1a2b"
)


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("kind", sorted(FINAL_LETTERS))
def test_a_customer_sees_nothing_of_the_machine_room(kind: LetterKind, planted: str) -> None:
    """Whatever an agent, a build or git wrote is for the operator; the customer has one plain sentence."""
    note = f"I changed the title.\n{planted}"
    about = job(JobState(kind.value), note=note, attempt=5, worker="host-7")
    work = UnfinishedWork(planted, why=planted, ref=planted, files=(planted,))
    for failure in (*FailureKind, None):
        letter = written(kind, about, MAIL, NEWER, note=note, failure=failure, unfinished=work)
        assert not TELL_TALE.search(letter.text), letter.text
        assert not TELL_TALE.search(letter.html)
        assert JOB.id in letter.text  # by which the operator finds the rest


# --- words to answer with ---------------------------------------------------------------------------------

COMMANDS = frozenset({Wish.PUBLISH, Wish.UNDO, Wish.REDO, Wish.STOP, Wish.STATUS, Wish.HELP})


@pytest.mark.parametrize("language", Language)
def test_every_word_that_a_letter_asks_for_is_understood(language: Language) -> None:
    """A letter that says "answer *deshacer*" to somebody whom we then don't understand is worse than none."""
    catalog = files("webordinary.reply") / "templates" / f"{language}.toml"
    starred = set(re.findall(r"(?<![*\w])\*([^*\n]+)\*(?![*\w])", catalog.read_text("utf-8")))
    commands = {word for word in starred if not says_yes(word)}
    assert {read_wish(word) for word in commands} == COMMANDS
    assert len(commands) == len(COMMANDS)
    for name in ("publish", "undo", "stop"):
        assert read_wish(phrases(language).word(name)) is Wish(name)
