"""Mails that want to hurt: each was, or could have been, the end of some mail server."""

from __future__ import annotations

import base64
from collections.abc import Callable, Iterator

from tests.intake import pictures

HEAD = (
    b"From: Scott <scott@example.com>\r\nMessage-ID: <hostile@example.com>\r\n"
    b"Subject: Hello\r\nMIME-Version: 1.0\r\n"
)
MEGABYTE = 1024 * 1024


def text(body: bytes, kind: bytes = b"text/plain; charset=utf-8") -> bytes:
    return HEAD + b"Content-Type: " + kind + b"\r\n\r\n" + body


def oversized() -> bytes:
    return text(b"x" * 70 + b"\r\n") + b"a" * (26 * MEGABYTE)


def just_small_enough() -> bytes:
    """A photo as large as a mail may be."""
    content = base64.encodebytes(pictures.jpeg() + bytes(17 * MEGABYTE)).replace(b"\n", b"\r\n")
    return many_parts(1, content, b"Content-Type: image/jpeg\r\nContent-Transfer-Encoding: base64\r\n")


def many_parts(count: int, body: bytes = b"x\r\n", headers: bytes = b"") -> bytes:
    part = b"--b\r\n" + headers + b"\r\n" + body
    return HEAD + b"Content-Type: multipart/mixed; boundary=b\r\n\r\n" + part * count + b"--b--\r\n"


def nested_containers(levels: int) -> bytes:
    opened = (
        b'Content-Type: multipart/mixed; boundary="b%d"\r\n\r\n--b%d\r\n' % (level, level)
        for level in range(levels)
    )
    return HEAD + b"".join(opened) + b"\r\ndeep\r\n"


def nested_mails(levels: int) -> bytes:
    return HEAD + b"Content-Type: message/rfc822\r\n\r\n" * levels + b"Subject: deep\r\n\r\ndeep\r\n"


def nested_digests(levels: int) -> bytes:
    """Parts of a digest are mails without saying so."""
    opened = (
        b'Content-Type: multipart/digest; boundary="b%d"\r\n\r\n--b%d\r\n\r\n' % (level, level)
        for level in range(levels)
    )
    return HEAD + b"".join(opened) + b"\r\ndeep\r\n"


def long_lived_boundaries() -> bytes:
    """Every line is compared with every boundary that is open."""
    return nested_containers(24) + b"x\r\n" * 400_000


def endless_report() -> bytes:
    """The library makes an object of every empty line in a delivery report."""
    return HEAD + b"Content-Type: message/delivery-status\r\n\r\n" + b"\r\n" * 500_000


def parts_with(header: bytes) -> bytes:
    return many_parts(290, b"x\r\n", header)


HTML = b"text/html; charset=utf-8"
HOSTILE: dict[str, Callable[[], bytes]] = {
    "oversized": oversized,
    "just small enough": just_small_enough,
    "10,000 parts": lambda: many_parts(10_000),
    "1,900 parts": lambda: many_parts(1_900),
    "1,000 nested containers": lambda: nested_containers(1_000),
    "190 nested containers": lambda: nested_containers(190),
    "1,000 nested mails": lambda: nested_mails(1_000),
    "190 nested mails": lambda: nested_mails(190),
    "90 nested digests": lambda: nested_digests(90),
    "long-lived boundaries": long_lived_boundaries,
    "an endless report": endless_report,
    "1 MB header": lambda: b"X-Filler: " + b"a" * MEGABYTE + b"\r\n" + text(b"hello"),
    "1 MB folded header": lambda: b"X-Filler: a\r\n" + b" a\r\n" * 250_000 + text(b"hello"),
    "10,000 header fields": lambda: b"X-A: b\r\n" * 10_000 + text(b"hello"),
    "no header ends": lambda: b"From: a@example.com\r\n" * 40_000,
    "200 KB of encoded words": lambda: b"Subject: " + b"=?utf-8?q?a?= " * 14_000 + b"\r\n" + text(b"hello"),
    "parentheses": lambda: parts_with(b"Content-Type: text/plain; " + b"(" * 3_900 + b"\r\n"),
    "quotes": lambda: parts_with(b'Content-Type: text/plain; a="' + b'\\"' * 1_900 + b"\r\n"),
    "parameters": lambda: parts_with(b"Content-Type: text/plain" + b"; a*0*=b" * 450 + b"\r\n"),
    "numbered parameters": lambda: parts_with(
        b"Content-Disposition: attachment" + b"".join(b"; f*%d=b" % i for i in range(450)) + b"\r\n"
    ),
    "encoded words in parameters": lambda: parts_with(
        b'Content-Disposition: attachment; filename="' + b"=?utf-8?b?YQ==?= " * 220 + b'"\r\n'
    ),
    "20 MB header of a part": lambda: many_parts(
        1, b"x\r\n", b"Content-Type: text/plain; a=" + b"b" * 20 * MEGABYTE + b"\r\n"
    ),
    "binary garbage": lambda: bytes(range(256)) * 4_096,
    "garbage as text": lambda: text(bytes(range(256)) * 3_000),
    "only line ends": lambda: b"\r\n" * 10_000_000,
    "text of line ends": lambda: text(b"\n" * 550_000),
    "lone carriage returns": lambda: text(b"\r" * 550_000),
    "59,000 empty lines": lambda: text(b"\n" * 59_000),
    "On On On": lambda: text(b"On " * 300_000),
    "On, wrapped": lambda: text(b"On 10:12 a@b\n" * 59_000),
    "almost an introduction": lambda: text((b"12:12 " + b"<@" * 240 + b":\n") * 2_000),
    "colons": lambda: text(b"a:\n" * 59_000),
    "quotes of quotes": lambda: text(b">" * 900_000),
    "flowed": lambda: text(b"a \n" * 59_000, b"text/plain; format=flowed; delsp=yes"),
    "signature marks": lambda: text(b"--\n" * 59_000),
    "headings": lambda: text(b"From: a@b 1\n" * 59_000),
    "joiners": lambda: text("\u200d\u200c".encode() * 150_000),
    "long words": lambda: text(b"x" * 990_000),
    "open tags": lambda: text(b"<" * 2_900_000, HTML),
    "open comments": lambda: text(b"<!--" * 700_000, HTML),
    "open attributes": lambda: text(b"<a x='\"" * 400_000, HTML),
    "deep tags": lambda: text(b"<div>" * 90_000, HTML),
    "deep tags, closed in vain": lambda: text(b"<p>" + b"<b>" * 290 + b"</i>" * 90_000, HTML),
    "cells": lambda: text(b"<td>x" * 90_000, HTML),
    "lists": lambda: text(b"<li>" * 90_000, HTML),
    "styles": lambda: text(b"<style>" + b"a{b:c}" * 400_000, HTML),
    "a style without end": lambda: text(b"<style>" + b"a" * 2_900_000, HTML),
    "style comments": lambda: text(b"<style>" + b"/*" * 1_400_000, HTML),
    "one long style": lambda: text(b'<p style="' + b"a:b;" * 700_000 + b'">x', HTML),
    "entities": lambda: text(b"&#" * 1_400_000, HTML),
    "line breaks": lambda: text(b"x<br>" * 99_000, HTML),
    "punycode": lambda: text(b"-" + b"a" * 900_000, b"text/plain; charset=punycode"),
    "UTF-7": lambda: text(b"+AGE-" * 180_000, b"text/plain; charset=utf-7"),
    "ZIP bomb": lambda: many_parts(
        1,
        base64.encodebytes(pictures.zip_bomb()),
        b"Content-Transfer-Encoding: base64\r\nContent-Type: application/zip\r\n",
    ),
}


def all_hostile() -> Iterator[tuple[str, bytes]]:
    for name, made in HOSTILE.items():
        yield name, made()
