"""Characters that must not get through: what people can't see, and what programs obey."""

from __future__ import annotations

import re

_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
# Zero-width characters, soft hyphens, direction marks, tags, half surrogates, unassigned specials.
_INVISIBLE = re.compile(
    "[\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u2800\u3164\ufeff\uffa0\ufff0-\ufffc\ufffe\uffff\ud800-\udfff\U000e0000-\U000e0fff]"
)
# Joiners shape Persian words and family emoji; anywhere else they hide something.
_STRAY_JOINERS = re.compile(
    "[\u200c\u200d]+(?![^\x00-\x7f\u200c\u200d])|(?<![^\x00-\x7f\u200c\u200d])[\u200c\u200d]+"
)
_SPACES = str.maketrans(
    dict.fromkeys(
        "\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f", " "
    )
)


def cleaned(text: str) -> str:
    """Keep what people can see, with plain line ends and plain spaces."""
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    return _STRAY_JOINERS.sub("", _INVISIBLE.sub("", text.translate(_SPACES)))


def one_line(text: str, most: int) -> str:
    """Make one line of at most so many characters: no header and no log line can be forged with it."""
    return " ".join(cleaned(text).split())[:most].rstrip()
