"""Bytes to text that people can see, whatever the mail says about them. Never fails.

Only encodings on this list are used: Python knows some under whose names a mail could make it slow or
strange (`punycode` is quadratic, `unicode_escape` runs escapes).
"""

from __future__ import annotations

import re

_CODECS = {
    "utf-8": "utf8 unicode11utf8",
    "utf-7": "utf7 unicode11utf7",
    "utf-16": "utf16 unicode ucs2",
    "utf-16-le": "utf16le",
    "utf-16-be": "utf16be",
    "cp1252": "usascii ascii ansix341968 iso88591 latin1 l1 windows1252 cp1252 iso646us",
    "iso8859-2": "iso88592 latin2",
    "iso8859-3": "iso88593",
    "iso8859-4": "iso88594",
    "iso8859-5": "iso88595",
    "iso8859-6": "iso88596",
    "iso8859-7": "iso88597",
    "iso8859-8": "iso88598 iso88598i",
    "cp1254": "iso88599 latin5 windows1254 cp1254",
    "iso8859-10": "iso885910",
    "iso8859-13": "iso885913",
    "iso8859-14": "iso885914",
    "iso8859-15": "iso885915 latin9",
    "iso8859-16": "iso885916",
    "cp1250": "windows1250 cp1250",
    "cp1251": "windows1251 cp1251",
    "cp1253": "windows1253 cp1253",
    "cp1255": "windows1255 cp1255",
    "cp1256": "windows1256 cp1256",
    "cp1257": "windows1257 cp1257",
    "cp1258": "windows1258 cp1258",
    "cp874": "windows874 tis620 iso885911",
    "koi8-r": "koi8r",
    "koi8-u": "koi8u",
    "cp437": "cp437 ibm437",
    "cp850": "cp850 ibm850",
    "cp852": "cp852 ibm852",
    "cp866": "cp866 ibm866",
    "mac-roman": "macintosh macroman xmacroman",
    "cp932": "shiftjis sjis xsjis cp932 windows31j mskanji",
    "euc_jp": "eucjp xeucjp",
    "iso2022_jp_ext": "iso2022jp iso2022jp1 iso2022jp2 iso2022jp3 iso2022jpms csiso2022jp",
    "gb18030": "gb2312 gbk gb18030 cp936 euccn",
    "hz": "hz hzgb2312",
    "big5hkscs": "big5 big5hkscs cp950",
    "cp949": "euckr ksc56011987 cp949 ksc5601 uhc",
    "iso2022_kr": "iso2022kr",
}
_BY_NAME = {name: codec for codec, names in _CODECS.items() for name in names.split()}
_WESTERN = frozenset({"", "cp1252", "iso8859-15", "cp1250", "cp1254"})
_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
_JAPANESE_SHIFT = (b"\x1b$B", b"\x1b$@", b"\x1b(J")


def decoded(content: bytes, charset: str = "") -> str:
    """Read bytes as text: as declared where that works, else as what they most likely are."""
    codec = _codec(charset)
    if codec in _WESTERN:  # what programs write when they do not know: the bytes know better
        codec = _guessed(content, codec)
    if codec == "utf-8":
        return _utf8(content)
    text = _strictly(content, codec)
    if text is None:
        text = _strictly(content, "utf-8")
    return text if text is not None else content.decode(codec, errors="replace")


def _codec(charset: str) -> str:
    name = _NOT_A_NAME.sub("", charset.lower()[:40])
    return _BY_NAME.get(name, "")


def _guessed(content: bytes, declared: str) -> str:
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return "utf-16"
    if _strictly(content, "utf-8") is None:
        return declared or "cp1252"
    if any(shift in content for shift in _JAPANESE_SHIFT):
        return "iso2022_jp_ext"
    return "utf-8"


def _utf8(content: bytes) -> str:
    """Text that says it is UTF-8 may be Windows text; one broken character does not make it so."""
    text = _strictly(content, "utf-8")
    if text is not None:
        return text
    text = content.decode("utf-8", errors="replace")
    has_real_characters = any(character > "\x7f" and character != "\ufffd" for character in text)
    return text if has_real_characters else content.decode("cp1252", errors="replace")


def _strictly(content: bytes, codec: str) -> str | None:
    try:
        return content.decode(codec)
    except UnicodeError:
        return None


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


SIGNATURE = "-- "


def unflowed(text: str, *, joins_words: bool) -> str:
    """Join lines that end in a space with the next, where both are quoted equally deep."""
    paragraphs: list[list[str]] = []
    open_depth = -1  # quote depth of the line that goes on; -1 if none does
    for raw in text.split("\n"):
        depth = len(raw) - len(raw.lstrip(">"))
        line = raw[depth:].removeprefix(" ")  # one space is stuffing
        goes_on = line.endswith(" ") and line != SIGNATURE
        if depth != open_depth or line == SIGNATURE:
            paragraphs.append(["> " * depth])
        paragraphs[-1].append(line[:-1] if goes_on and joins_words else line)
        open_depth = depth if goes_on else -1
    return "\n".join("".join(pieces) for pieces in paragraphs)
