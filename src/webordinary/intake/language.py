"""Which language a mail is written in, by its commonest words. Offline, and unsure rather than wrong.

Words are better evidence than headers: `Content-Language` says how somebody's program was installed.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache

from webordinary.core.language import Language

OPENING_CHARACTERS = 400  # of a mail: what follows may be text for the site, in any language
WORDS_MAX = 400
SURE, UNSURE = 2.0, 0.7  # so many telling words ...
LEAD = 1.4  # ... and so many times as many as of any other language

_ADDRESS = re.compile(r"\S+@\S+|https?://\S+|www\.\S+")
_QUOTATION = re.compile(r"[\"“”„«»][^\"“”„«»\n]{1,300}[\"“”„«»]")
_TO_THE_COLON = re.compile(r"[:\n]")
_WORD = re.compile(r"[^\W\d_]+")

_WORDS = {
    Language.ENGLISH: (
        "the and of to is in it you that for on are with as this have from be not what was our we can "
        "your will there please thanks thank hello hi dear could would should change replace add remove "
        "new page pages home picture photo attached title heading make put at by my all more which when "
        "where they their has had do does don just need want like also instead kind regards best morning "
        "website"
    ),
    Language.GERMAN: (
        "der die das und ist nicht ein eine einen einem einer ich wir sie ihr es auf mit für von zu zum "
        "zur den dem des im in am an bei auch noch bitte danke hallo guten tag liebe lieber grüße gruß "
        "seite startseite bild foto ändern ändere ändert ersetzen neue neuen neues neuer überschrift "
        "titel uns unser unsere unserer mein meine kann können könnten soll sollte statt durch über nach "
        "werden wird sind haben hat wie was wenn dass daß oder aber nur schon wieder hier jetzt machen "
        "mach vielen dank mfg webseite anbei gern"
    ),
    Language.FRENCH: (
        "le la les un une des du de et est en à au aux je nous vous il elle ce cette ces que qui pour "
        "par sur dans avec pas ne plus sont être avoir mon ma mes notre nos votre vos bonjour merci "
        "cordialement svp plaît plait page accueil photo image titre changer changez remplacer remplacez "
        "ajouter ajoutez mettre mettez pouvez pourriez veuillez joint jointe nouvelle nouveau texte site "
        "bien faire fait l d j qu c n s y"
    ),
    Language.SPANISH: (
        "el la los las un una unos unas de del y es en a al que por para con no se lo su sus mi mis "
        "nuestro nuestra nuestros nuestras hola gracias saludos favor página inicio foto imagen título "
        "cambiar cambie cambia reemplazar sustituir añadir añada añade poner pon ponga quiero queremos "
        "puede puedes podría más como pero esta este esto está están ser son hay muy también sitio web "
        "texto nueva nuevo adjunta adjunto buenos buenas días tardes"
    ),
    # Not written in, and easily taken for one that is.
    "it": (
        "il lo la gli le un una di del della dei e è in che per con non si al alla sul sulla ciao grazie "
        "buongiorno pagina foto titolo cambiare sostituire aggiungere nostro nostra vorrei potete puoi "
        "questo questa sono anche più come salve cordiali saluti sito nuova nuovo"
    ),
    "nl": (
        "de het een en van ik is dat op te in met voor niet zijn er aan ook om bij of wij we onze ons "
        "jullie uw graag bedankt hallo groeten pagina foto titel wijzigen vervangen toevoegen kunnen "
        "kunt deze dit naar door nieuwe nog maar wel"
    ),
    "pt": (
        "o a os as um uma de do da dos das e é em no na que para por com não se ao seu sua nosso nossa "
        "olá obrigado obrigada bom dia página foto título alterar mudar substituir adicionar você vocês "
        "podem pode poderia queremos está são mais também esta este isso cumprimentos"
    ),
    "da": (
        "og i det er en et til på med ikke jeg vi som af for den har kan venligst tak hej side billede "
        "vores siden sv"
    ),
    "pl": (
        "i w na z do nie się jest to że proszę dzień dobry dziękuję strona stronie zdjęcie zmienić nasz "
        "nasza od po"
    ),
}
_LANGUAGES_OF: dict[str, list[str]] = {}
for _language, _listed in _WORDS.items():
    for _word in set(_listed.split()):
        _LANGUAGES_OF.setdefault(_word, []).append(_language)
_MARKS = {
    "ß": Language.GERMAN,
    "ñ": Language.SPANISH,
    "¿": Language.SPANISH,
    "¡": Language.SPANISH,
    "œ": Language.FRENCH,
    "ê": Language.FRENCH,
    "ã": "pt",
    "õ": "pt",
    "å": "sv",
    "ø": "da",
    "ł": "pl",
}


@lru_cache(maxsize=16)  # of one mail it is asked more than once
def language_of(text: str, *, sure: bool = True) -> Language | None:
    """Tell the language of somebody's own words; English if letters are not written in it, None if unclear.

    `sure` asks for several words of it: "Merci!" may come from anybody.
    """
    bare = _ADDRESS.sub(" ", text)
    own = _QUOTATION.sub(" ", bare).strip()  # what is quoted is for the site
    first = _TO_THE_COLON.split(own, maxsplit=1)[0]  # "Please add this text: ..."
    for words in (first, own[:OPENING_CHARACTERS], own, bare):
        found = _clearest(words, SURE if sure else UNSURE)
        if found is not None:
            return Language(found) if found in set(Language) else Language.ENGLISH
    return None


def declared_language(header: str) -> Language | None:
    """The first language of a `Content-Language` or `Accept-Language` that letters are written in."""
    for named in header.lower().split(","):
        code = named.strip().partition(";")[0].partition("-")[0]
        if code in set(Language):
            return Language(code)
    return None


def _clearest(text: str, least: float) -> str | None:
    counts: Counter[str] = Counter()
    for word in _WORD.findall(text.lower())[:WORDS_MAX]:
        languages = _LANGUAGES_OF.get(word, ())
        for language in languages:
            counts[language] += 1 / len(languages) ** 0.5  # a word of many languages says little
    for mark, language in _MARKS.items():
        counts[language] += mark in text.lower()
    ranked = [*counts.most_common(2), ("", 0.0), ("", 0.0)]
    (first, most), (_, second) = ranked[:2]
    return first if most >= least and most >= LEAD * second else None
