"""What a mail wants: each wish as people write it, and beside it what must not be taken for it."""

import pytest

from webordinary.identify.intent import Wish, is_reaction, read_wish, said, says_yes

COURTESY = (
    "Besten Dank und schöne Grüße",
    "Sehr gut gemacht, danke",
    "Got it, thanks",
    "That was fast!",
    "Amazing job, it looks fantastic on my phone",
    "Great, thanks a lot!",
    "Perfect 👍",
    "Danke, super!",
    "Merci beaucoup",
    "Gracias",
    "ok",
    "cheers",
    "Thanks!\n\nMary",
    "👍",
    "Thank you so much!\nBest regards,\nScott",
    "Looks great!",
    "I love it",
    "Vielen Dank für die schnelle Hilfe!",
    "Muchas gracias, ha quedado perfecto",
    "C'est parfait, merci !",
    "Wonderful, exactly what I wanted. Thanks!",
    "Grazie mille",
    "Bedankt, ziet er goed uit",
    "Muito obrigado!",
    "Super, danke schön 😊",
    "The new photo is beautiful!",
    "Thanks for the new photos",
    "Hi team,\nthank you very much\nMary",
    "awesome!!!",
    "Sehr schön, vielen Dank",
    "Yes, perfect, thanks",
    "Thanks, Scott",
    "lgtm",
    "Have a nice weekend, thanks",
    "Great job!",
    "No problem, thanks",
    "Très bien",
    "Top, danke!",
    "Thank you\n\nS.",
    "Danke!\n\nLiebe Grüße\nMary",
    "It's perfect now, thank you",
    "much better, thanks!",
    "Ok thanks",
)
INSTRUCTIONS = (
    'Publish "Thank you all, we love you"',
    "Veröffentliche „Vielen Dank“",
    "Redo my website",
    "Rehacer la página",
    "Please redo the preview in green",
    "That was better",
    "Publish only the photo",
    "revert the title",
    "Dear customers, thank you so much!",
    "Nice, what is this",
    "página pública",
    "We are going live with the shop",
    "I need a new page",
    "not good",
    "Thanks! Also change the phone number",
    "Great, but the title is wrong",
    "Thanks to our sponsors",
    "Great. The title is wrong",
    "Make it great",
    "Perfect Pizza",
    "Thanks for nothing page",
    "great photo",
    "Add thanks",
    "Danke an alle Helfer",
    "not good",
    "I don't like it",
    "It was better",
    "Bigger",
    "Thanks!\n\nClosed Mondays",
    "publish a new page about cats",
    "Publish the blog post about cats",
    "Change the title to X, then publish it",
    "undo the bold in the heading",
    "undo change 3",
    "publish the new prices on the shop page",
    "undo große Überschrift",
    "undo the last two changes",
    "bring the photo back",
    "Publish this text: we are closed",
    "Publish that we are very happy and grateful for your help",
    "Stop the slideshow",
    "cancel the order form",
    "Put our menu online as a page",
    "Veröffentliche einen neuen Artikel über Katzen",
    "Publiez une page sur nos horaires",
    "Add a page 'Go live'",
    "Publica una página con el menú",
    "Undo the last change in the heading",
    "help page please",
    "Add a status bar",
    "Make the heading say thank you",
    "Danke Seite",
    "Let's go with blue",
    "More photos please",
    "Publish my thank you note to Bob",
    "publish a new page",
    "Thank you page",
    "Great. Next: the contact page",
    "go live with the new prices",
    "I'd like a beautiful new page",
    "The page is not good",
)
APPROVALS = (
    'please "publish"',
    "Hola,\n\nperfecto, publícalo.\n\nUn saludo,\nMary",
    "Would you publish it for me?",
    "Können Sie das veröffentlichen?",
    "Guten Morgen, bitte veröffentlichen",
    "Publish now please :)",
    "Je mag het publiceren",
    "All good from my side, please publish",
    "Gefällt mir sehr gut, kann veröffentlicht werden",
    "Se ve muy bien, publícalo por favor",
    "Publish publish publish!",
    "Hi Bob, please publish",
    "Looks great, please publish it!",
    "Yes, go live",
    "Veröffentlichen",
    "Bitte veröffentlichen, danke",
    "Publiez",
    "Publícalo",
    "Kannst du das live schalten?",
    "ok publish",
    "publish",
    "Publish!",
    "please publish it!",
    "publish all my changes",
    "That's perfect, you can publish now",
    "The new photo is beautiful! Please publish.",
    "Love it, go live",
    "Super, bitte online stellen",
    "Sieht gut aus, bitte veröffentlichen. Danke!",
    "Stell es bitte online",
    "Publie le site s'il te plaît",
    "C'est parfait, tu peux publier",
    "Mettez le site en ligne, merci",
    "Perfecto, publícalo por favor",
    "Sí, publica",
    "Si, publica",
    "Pubblica pure",
    "Perfetto, pubblicalo!",
    "Zet maar online",
    "Ziet er goed uit, publiceer maar",
    "Pode publicar",
    "Could you please publish this? Thanks",
    "Go ahead and publish",
    "Approved, please publish",
    "Looks good. Make it live please.",
    "Hi,\nplease publish.\nThanks\nMary",
    "Publish 👍",
    "veroeffentlichen",
    "Ja, bitte veröffentlichen!",
    "Great, let's go live!",
    "Publish please, thanks a lot!",
    "You can go live with this",
    "Schalte es live",
    "Ok, go live now",
    "Looks amazing on my phone, please publish",
    "Va bene, pubblica",
    "OK pour publier",
    "I'm happy with it, publish",
)
UNCLEAR = (
    "Will this go live right away?",
    "Would it go live now",
    "Could this go live as is?",
    "Can we publish?",
    "Können wir das veröffentlichen?",
    "Mag het online?",
    "I will publish it now",
    "Morgen veröffentlichen",
    "undo everything",
    "undo all my changes",
    "Merci, c'est publié",
    "No",
    "Not yet, thanks",
    "Noch nicht bitte",
    "Ready to go live?",
    "No need to publish",
    "publish?",
    "should I publish?",
    "publish maybe",
    "not yet live?",
    "Don't publish yet",
    "publish it tomorrow",
    "when will it be published?",
    "Yes",
    "Go ahead",
    "Approved",
    "Is it live?",
    "Can I publish?",
    "Noch nicht veröffentlichen",
    "Publie si tout est bon",
    "Si está bien, publícalo",
    "Publish if it's ok",
    "publish at 5pm",
    "Great, but don't publish",
    "undo?",
    "Yes please",
    "Soll ich veröffentlichen?",
    "ne publiez pas",
    "no publiques todavía",
    "non pubblicare ancora",
    "publish 👎",
    "Please do not publish this",
    "publish on Monday",
    "Publish later",
    "undo and publish",
    "Ist das schon online?",
    "Don't undo",
    "✅",
    "publish 3 changes",
    "Don't stop",
    "Danke, aber bitte nicht veröffentlichen",
    "Can you publish it tomorrow?",
)
UNDO = (
    "Undo",
    "Undo the last change",
    "Hi, could you please undo that? Thanks",
    "Take my last edit back.",
    "undo 👍",
    "Rückgängig machen",
    "Bitte mach das rückgängig",
    "Annulez, s'il vous plaît",
    "Deshacer",
    "Annulla",
    "maak het ongedaan",
    "desfazer por favor",
    "revert please",
    "undo it, thanks",
    "Please roll back",
    "Oops, please undo ;-)",
    "Annulla l'ultima modifica",
    "Maak de laatste wijziging ongedaan",
    "Desfaz a última alteração",
)
REDO = (
    "redo",
    "Bring it back, please",
)
STOP = (
    "Stop stop stop",
    "stop",
    "Stop!",
    "cancel",
    "please stop",
    "Stopp!",
    "Arrêtez",
    "Halt, bitte",
    "Pare por favor",
    "para",
    "Stop, don't publish",
)
STATUS = (
    "status",
    "Status?",
    "Stand?",
    "status please",
    "Quel est le statut ?",
    "¿Cuál es el estado?",
    "Wie ist der Stand der Dinge?",
)
HELP = (
    "help",
    "Hilfe",
    "Hello",
    "help me please",
    "aide",
)


@pytest.mark.parametrize("text", COURTESY)
def test_thanks_and_praise_ask_for_nothing(text: str) -> None:
    """ "Great, thanks a lot!" once stopped a running edit."""
    assert read_wish(text, names=("mary", "scott")) is Wish.COURTESY


@pytest.mark.parametrize("text", INSTRUCTIONS)
def test_a_word_that_says_more_makes_it_an_instruction(text: str) -> None:
    """What is taken for politeness or for a command is read by no model: its sender would wait in vain."""
    assert read_wish(text, names=("mary", "scott")) is Wish.EDIT


@pytest.mark.parametrize("text", APPROVALS)
def test_an_approval_is_understood_as_people_write_it(text: str) -> None:
    assert read_wish(text, names=("mary", "scott")) is Wish.PUBLISH


@pytest.mark.parametrize("text", UNCLEAR)
def test_a_command_that_is_denied_put_off_or_asked_about_is_carried_out_by_nobody(text: str) -> None:
    """Everybody would see what somebody had just said not to show."""
    assert read_wish(text) is Wish.UNCLEAR


@pytest.mark.parametrize(
    ("wish", "text"),
    [
        *((Wish.UNDO, text) for text in UNDO),
        *((Wish.REDO, text) for text in REDO),
        *((Wish.STOP, text) for text in STOP),
        *((Wish.STATUS, text) for text in STATUS),
        *((Wish.HELP, text) for text in HELP),
    ],
)
def test_the_other_words_are_known_in_several_languages(wish: Wish, text: str) -> None:
    assert read_wish(text) is wish


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Thanks!\n\nClosed Mondays", ("mary",)),
        ("Perfect!\n\nMonday", ("mary",)),
        ("Thanks!\n\nMary", ()),
    ],
)
def test_a_last_line_is_a_name_only_if_it_is_the_senders(text: str, names: tuple[str, ...]) -> None:
    """Anything else there may be what the site should say."""
    assert read_wish(text, names=names) is Wish.EDIT


@pytest.mark.parametrize(
    ("subject", "wish"),
    [
        ("publish", Wish.PUBLISH),
        ("[queue] publish", Wish.PUBLISH),
        ("Thanks!", Wish.COURTESY),
        ("Re: publish", Wish.EDIT),
        ("AW: Veröffentlichen", Wish.EDIT),
    ],
)
def test_an_empty_mail_says_it_in_its_subject_unless_that_is_a_replys(subject: str, wish: Wish) -> None:
    assert read_wish("  \n", subject) is wish
    assert read_wish("Make it blue", subject) is Wish.EDIT


def test_the_subject_of_a_reply_is_no_instruction() -> None:
    assert said("", "Re: publish") == ""
    assert said("", "Opening hours: nine to five") == "Opening hours: nine to five"


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Ja, das war ich",
            "yes that was me",
            "Oui",
            "sí claro",
            "Hi, yes",
            "It was me!",
            "C'était moi",
            "ok",
        ),
        *(
            "Yes\n\nScott",
            "Sì, sono stato io",
            "si",
            "I confirm",
            "Ich bestätige das",
            "Je confirme",
            "It's me",
        ),
    ],
)
def test_a_yes_is_understood(text: str) -> None:
    assert says_yes(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "that was not me",
            "No",
            "Yes, but it was not me",
            "Nein",
            "was that me?",
            "Yes?",
            "I never said yes",
        ),
        *("yesterday", "", "Das war ich nicht", "Ce n'était pas moi", "somebody else, yes"),
        *("Yes, I was hacked", "ok what is this", "I can't confirm", "Ich bestätige nichts, das war Betrug"),
    ],
)
def test_only_a_clear_yes_confirms(text: str) -> None:
    """A confirmation lets somebody into a site."""
    assert not says_yes(text)


def test_a_reaction_is_told_from_words_about_one() -> None:
    assert is_reaction("👍\n\nScott reacted via Gmail")
    assert is_reaction("Scott reacted to your message:\n\n❤️")
    assert not is_reaction("Write on the home page how our guests reacted")
