"""The language of a mail: told by its words, and unsure rather than wrong."""

import pytest

from webordinary.core.language import Language
from webordinary.intake.language import declared_language, language_of

SURE = [
    ("en", "Change the homepage title to Spring Sale"),
    ("en", "Hi, could you put the attached photo on the contact page? Thanks, Amelia"),
    ("de", "Hallo, bitte ändert die Überschrift auf der Startseite in Frühlingsangebote."),
    ("de", "Bitte rückgängig machen"),
    ("fr", "Bonjour, pouvez-vous remplacer la photo de la page d'accueil ? Merci"),
    ("fr", "Changez le titre"),
    ("es", "Hola, por favor cambie el título de la página de inicio."),
    ("es", "¿Puede poner la foto adjunta en la página de contacto? Gracias"),
]
NOT_WRITTEN_IN = [
    "Ciao, potete cambiare il titolo della pagina? Grazie",
    "Kunnen jullie de foto op de pagina vervangen? Bedankt",
    "Olá, podem mudar o título da página inicial? Obrigado",
    "Hej, kan ni byta bild på sidan? Tack",
]


@pytest.mark.parametrize(("language", "text"), SURE)
def test_words_tell_the_language(language: str, text: str) -> None:
    assert language_of(text) == language


@pytest.mark.parametrize("text", NOT_WRITTEN_IN)
def test_a_language_that_letters_are_not_written_in_is_answered_in_english(text: str) -> None:
    """Spanish for a Portuguese is worse than English."""
    assert language_of(text) is Language.ENGLISH


@pytest.mark.parametrize("text", ["", "ok", "undo", "123", "Привет, поменяйте фото", "你好,请更换图片"])
def test_a_word_that_tells_nothing_is_left_open(text: str) -> None:
    assert language_of(text) is None


def test_one_word_counts_only_where_nothing_better_is_known() -> None:
    """A Swiss says merci, a German says thanks."""
    for text, language in (
        ("Merci!", "fr"),
        ("Danke, sieht gut aus", "de"),
        ("Gracias", "es"),
        ("Thanks!", "en"),
    ):
        assert language_of(text) is None
        assert language_of(text, sure=False) == language


def test_text_for_the_site_does_not_decide() -> None:
    german = "Wir sind vom 1. bis zum 15. August in den Ferien und freuen uns danach auf Sie. " * 9
    assert language_of(f"Please add this text: {german}") is Language.ENGLISH
    assert language_of(f'Please change the sentence to "{german[:200]}" on the page') is Language.ENGLISH


@pytest.mark.parametrize(
    ("header", "language"),
    [("de-DE", "de"), ("pt-BR, es;q=0.8, en;q=0.5", "es"), ("FR", "fr"), ("", None), ("tlh", None)],
)
def test_a_header_is_the_last_word(header: str, language: str | None) -> None:
    assert declared_language(header) == language
