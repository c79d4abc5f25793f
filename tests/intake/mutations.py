"""Random bytes, and mails of the corpus with something broken in them. The same seed makes the same mail."""

from __future__ import annotations

import random
from collections.abc import Callable

from tests.intake.corpus import NAMES, raw

LARGEST = 60_000  # bytes of a mail before it is broken: the point is variety
KEPT_UP_TO = (b"From", b"MIME-Version", b"\r\n\r\n", b"\r\n\r\n")  # a broken header ends reading early
TOKENS = tuple(
    token.replace(b"~", b"\r\n")
    for token in (
        *(b"~~", b"~", b"\n", b"\r", b"\x00", b"--", b"=?", b"?=", b"=?utf-8?b?", b"=?x?q?=00?="),
        *(b"<", b">", b"@", b":", b";", b",", b'"', b"\\", b"(", b")", b"=", b"=~", b"*0*=", b"''%"),
        *(
            b"boundary=",
            b"charset=",
            b"charset=idna~",
            b"charset=utf-16~",
            b"charset=utf-7~",
            b"Content-Type: ",
        ),
        *(b"From: a@example.org~", b"Content-Type: message/rfc822~~", b"message/partial", b"multipart/"),
        *(
            b"Content-Type: multipart/mixed; boundary=x~~--x~",
            b"Content-Type: multipart/digest; boundary=y~~--y~",
        ),
        *(
            b"Content-Transfer-Encoding: base64~",
            b"Content-Transfer-Encoding: quoted-printable~",
            b"text/html",
        ),
        *(b"<div style='display:none", b"<style>", b"<!--", b"-->", b"&#x", b"<td>", b"<blockquote>"),
        *(b"\xff\xfe", b"\xed\xa0\x80", b"\x1b$B", b"\xe2\x80\xae"),
        *(
            b"On 1/1/26 10:10, a@b wrote:~",
            b"> ",
            b"-- ~",
            b"-----Original Message-----~",
            b"From: a@b 1~Subject:",
        ),
    )
)

Breaker = Callable[[random.Random, bytearray], None]


def insert_token(chance: random.Random, mail: bytearray) -> None:
    at = chance.randint(0, len(mail))
    mail[at:at] = chance.choice(TOKENS) * chance.choice((1, 1, 1, 2, 50))


def flip_bytes(chance: random.Random, mail: bytearray) -> None:
    for _ in range(chance.randint(1, 20)):
        if mail:
            mail[chance.randrange(len(mail))] = chance.randrange(256)


def delete_stretch(chance: random.Random, mail: bytearray) -> None:
    at = chance.randint(0, len(mail))
    del mail[at : at + chance.choice((1, 2, 10, 200))]


def copy_stretch(chance: random.Random, mail: bytearray) -> None:
    begin, at = chance.randint(0, len(mail)), chance.randint(0, len(mail))
    mail[at:at] = mail[begin : begin + chance.choice((5, 60, 600))]


def cut_off(chance: random.Random, mail: bytearray) -> None:
    del mail[chance.randint(0, len(mail)) :]


def shuffle_lines(chance: random.Random, mail: bytearray) -> None:
    lines = mail.split(b"\r\n")
    i, j = chance.randrange(len(lines)), chance.randrange(len(lines))
    lines[i], lines[j] = lines[j], lines[i]
    mail[:] = b"\r\n".join(lines)


def join_another(chance: random.Random, mail: bytearray) -> None:
    other = raw(chance.choice(NAMES))[:LARGEST]
    mail[chance.randint(0, len(mail)) :] = other[chance.randint(0, len(other)) :]


BREAKERS: tuple[Breaker, ...] = (
    *(insert_token, insert_token, insert_token),
    *(flip_bytes, delete_stretch, copy_stretch, cut_off, shuffle_lines, join_another),
)


def mutated(seed: int) -> bytes:
    chance = random.Random(seed)
    whole = raw(chance.choice(NAMES))[:LARGEST]
    kept = whole.find(chance.choice(KEPT_UP_TO))
    mail = bytearray(whole[max(0, kept) :])
    for _ in range(chance.choice((1, 1, 2, 4, 8))):
        chance.choice(BREAKERS)(chance, mail)
    return whole[: max(0, kept)] + bytes(mail)


def garbage(seed: int) -> bytes:
    """Bytes of no meaning, some behind a header that has one."""
    chance = random.Random(seed)
    body = chance.randbytes(chance.choice((0, 1, 30, 300, 3_000)))
    if chance.random() < 0.5:
        return body
    tokens = b"".join(chance.choice(TOKENS) + chance.randbytes(3) for _ in range(chance.randint(0, 40)))
    return b"From: scott@example.com\r\n" + tokens + b"\r\n\r\n" + body
