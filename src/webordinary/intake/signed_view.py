"""A mail as its signature alone allows it to be read.

A DKIM signature covers the body and some headers. Whoever has a copy may change all other headers and send it
to us: another Content-Type makes another part of the same signed bytes the text. So a mail that rests on a
signature is read a second time, from the signed headers and the canonical body, and both readings must say
the same. How the body is to be taken apart is read from the body itself where Content-Type is not signed.
"""

from __future__ import annotations

import hashlib
import quopri
import re
from base64 import b64decode
from binascii import Error as NotBase64
from dataclasses import replace

from webordinary.core.mail import ParsedMail, SignedParts, UnreadableMail
from webordinary.intake.body import contents
from webordinary.intake.headers import base64_bytes, body_of, read_headers
from webordinary.intake.limits import CannotRead
from webordinary.intake.mime_parts import check_size, kind_of_field, read_parts

UNSETTLED = "headers that are not signed decide which of its texts is read"
BASE64_CHARACTERS_MIN = 24  # below that, words are base64 by accident

_CONTENT = ("content-type", "content-transfer-encoding")
_OPENING = re.compile(
    rb"(?:\r?\n)*"
    rb"(?:This is a (?:multi-?part|cryptographically signed) message in MIME format\.*[ ]?(?:\r?\n)+)?"
    rb"--([!-~](?:[ -~]{0,68}[!-~])?)\r?\nContent-[A-Za-z-]+:",
    re.IGNORECASE,
)
_PART = re.compile(rb"^--[!-~][^\r\n]{0,80}\r?\nContent-[A-Za-z-]+:", re.IGNORECASE | re.MULTILINE)
_DELIMITER = re.compile(rb"^--[!-~][^\r\n]{0,80}", re.MULTILINE)
_CLOSING = re.compile(rb"^--[!-~][^\r\n]{0,80}--[ \t]*(?=\r?$)", re.MULTILINE)
_MARKUP = re.compile(  # what makes another text of a body when it is read as HTML, or no longer as HTML
    rb"<(?:[!?]|/?(?:a|abbr|address|article|b|base|big|blockquote|body|br|button|center|cite|code|col|dd|del|div|dl"
    rb"|dt|em|font|footer|form|h[1-6]|head|header|hr|html|i|iframe|img|input|ins|label|li|link|main|map|mark|meta"
    rb"|nav|object|ol|option|p|pre|q|s|script|section|select|small|span|strike|strong|style|sub|sup|svg|table|tbody"
    rb"|td|textarea|tfoot|th|thead|title|tr|tt|u|ul|video|wbr|[a-z]+:[a-z]+)[\s/>])|&(?:[a-z]{2,8}|#x?[0-9a-f]+);",
    re.IGNORECASE,
)
_BASE64_LINES = re.compile(rb"(?:[A-Za-z0-9+/]{1,998}\r?\n)*[A-Za-z0-9+/]+={0,2}")
_ESCAPES = re.compile(rb"=(?:(?:20|09)?\r?\n|([0-9A-F]{2})|(.?))", re.DOTALL)
_REFERENCE = re.compile(r"(?:https?|mailto|tel|cid):[^\s<>()\[\]]+|\[(?:image|cid):[^\]\n]*\]", re.IGNORECASE)


def signed_view(raw: bytes, signed: SignedParts) -> bytes:
    """Write the mail down again from what is signed; raise `CannotRead` if that is not one mail only."""
    check_size(raw)
    fields = read_headers(raw).fields
    names = [name for name, _ in fields]
    kept = [
        (name, b" ".join(value.split()))
        for name, value in fields
        if name in signed.headers and names.count(name) == 1 and name not in _CONTENT
    ]
    body = relaxed(body_of(raw)) if signed.relaxed_body else body_of(raw)
    claimed = {name: value for name, value in fields if name in _CONTENT and name in signed.headers}
    head = b"".join(b"%s: %s\r\n" % (name.encode(), value) for name, value in kept)
    return head + _content_fields(claimed, signed, body) + b"\r\n" + body


def relaxed(body: bytes) -> bytes:
    """Write white space in DKIM's relaxed form, in linear time: runs are one space, lines end without."""
    body = body.replace(b"\t", b" ")
    while b"  " in body:
        body = body.replace(b"  ", b" ")
    return body.replace(b" \r\n", b"\r\n").replace(b" \n", b"\n")


def as_signed(mail: ParsedMail, signed: ParsedMail | UnreadableMail) -> ParsedMail | None:
    """Give a mail the thread that its signed view has; None if the two readings do not say the same."""
    if not isinstance(signed, ParsedMail) or not says_the_same(mail, signed):
        return None
    return replace(
        mail,
        in_reply_to=signed.in_reply_to,
        references=signed.references,
        session_header=signed.session_header,
    )


def says_the_same(mail: ParsedMail, other: ParsedMail | UnreadableMail) -> bool:
    """Say whether two readings have the same words and files; how lines are cut and spaced is no matter."""
    return isinstance(other, ParsedMail) and _content(mail) == _content(other)


def words_hash(mail: ParsedMail) -> str:
    """The same for all readings that say the same."""
    return hashlib.sha256(repr(_content(mail)).encode(errors="surrogatepass")).hexdigest()


def _content(mail: ParsedMail) -> tuple[object, ...]:
    texts = [(stretch.kind, _characters(stretch.text)) for stretch in mail.stretches]
    files = [(file.kind, file.content.translate(None, b" \t\r\n")) for file in mail.files]
    return (_characters(mail.subject), texts, files, len(mail.skipped))


def _characters(text: str) -> str:
    return "".join(text.split())


# --- what the body says about itself ---------------------------------------------------------------------


def _content_fields(claimed: dict[str, bytes], signed: SignedParts, body: bytes) -> bytes:
    """Write Content-Type and Content-Transfer-Encoding: the signed ones, else what the body shows."""
    if "content-type" in signed.headers:
        kind = kind_of_field(claimed.get("content-type", b"").decode("ascii", "replace"))
        encoding = claimed.get("content-transfer-encoding", b"")
        if "content-transfer-encoding" not in signed.headers and not kind.startswith(
            ("multipart/", "message/")
        ):
            encoding = _encoding(body)
        return _field("Content-Type", claimed.get("content-type", b"")) + _field(
            "Content-Transfer-Encoding", encoding
        )
    boundary = _boundary(body)
    if boundary is not None:
        return _container(boundary, body)
    encoding = _encoding(body)
    if _has_parts(body) or _MARKUP.search(_decoded(body, encoding)):
        raise CannotRead(UNSETTLED)
    return _field("Content-Transfer-Encoding", encoding)


def _field(name: str, value: bytes) -> bytes:
    return b"%s: %s\r\n" % (name.encode(), value) if value else b""


def _boundary(body: bytes) -> bytes | None:
    """Find what parts a body that is made of parts: it begins with that, and it ends with that."""
    opening = _OPENING.match(body)
    if opening is None or not body.rstrip(b"\r\n").endswith(b"\n--%s--" % opening[1]):
        return None
    return opening[1]


def _has_parts(body: bytes) -> bool:
    """Say whether some Content-Type could find parts in a body that does not begin and end with them."""
    if _PART.search(body):
        return True
    closed = {line.rstrip()[:-2] for line in _CLOSING.findall(body)}
    return any(line.rstrip() in closed for line in _DELIMITER.findall(body))


def _container(boundary: bytes, body: bytes) -> bytes:
    """Say what holds the parts. Every kind of container must come to one text: the kind is not signed."""
    quoted = boundary.replace(b"\\", b"\\\\").replace(b'"', b'\\"')
    mixed = b'Content-Type: multipart/mixed; boundary="%s"\r\n' % quoted
    found = [contents(part) for part in read_parts(mixed + b"\r\n" + body).parts]
    texts = ("\n".join(stretch.text for stretch in one.texts) for one in found)
    said = [words for words in map(_words, texts) if words]
    if len(set(said)) > 1:
        raise CannotRead(UNSETTLED)
    return mixed.replace(b"mixed", b"alternative", 1) if len(said) > 1 else mixed


def _words(text: str) -> str:
    """What the plain and the HTML version of a text share: its letters, but for links and pictures."""
    return "".join(filter(str.isalpha, _REFERENCE.sub("", text))).lower()


def _encoding(body: bytes) -> bytes:
    """Tell how a text is encoded. Only what has to be encoded may be: in `=64elete` somebody hides a word."""
    text = body.strip(b"\r\n")
    if not body.isascii():
        return b""
    if _is_base64(text):
        return b"base64"
    escapes = _ESCAPES.findall(body + b"\r\n")
    is_quoted = all(not odd and (not code or code == b"3D" or code >= b"80") for code, odd in escapes)
    return b"quoted-printable" if escapes and is_quoted else b""


def _decoded(body: bytes, encoding: bytes) -> bytes:
    if encoding == b"base64":
        return base64_bytes(body)
    return quopri.decodestring(body) if encoding else body


def _is_base64(text: bytes) -> bool:
    if len(text) < BASE64_CHARACTERS_MIN or not _BASE64_LINES.fullmatch(text):
        return False
    try:
        b64decode(b"".join(text.split()), validate=True).decode("utf-8")
    except (NotBase64, UnicodeDecodeError):
        return False
    return True
