"""Languages that letters are written in."""

from __future__ import annotations

from enum import StrEnum


class Language(StrEnum):
    """A folder of templates each."""

    ENGLISH = "en"
    GERMAN = "de"
    FRENCH = "fr"
    SPANISH = "es"
