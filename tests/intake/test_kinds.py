"""Files: what they are, what they are called, and what is left out."""

from __future__ import annotations

import io
import zipfile

import pytest

from tests.intake import pictures
from webordinary.core.mail import FileProblem, ParsedMail
from webordinary.intake.attachments import kind_of, sort_files, web_ready
from webordinary.intake.limits import FILE_BYTES, FILES
from webordinary.intake.mime_parts import Part
from webordinary.intake.read import read
from webordinary.ports.images import NoImage, WebImage


def office(*names: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return out.getvalue()


def open_document(kind: str) -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr("mimetype", f"application/vnd.oasis.opendocument.{kind}")
    return out.getvalue()


KEPT = {
    "jpg": pictures.jpeg(),
    "png": pictures.see_through_png(),
    "gif": pictures.animation(),
    "heic": pictures.heic(),
    "webp": b"RIFF\x00\x00\x00\x00WEBPVP8 ",
    "avif": b"\x00\x00\x00\x1cftypavif",
    "tif": b"II*\x00\x08\x00",
    "bmp": b"BM\x00\x00\x00\x00",
    "pdf": pictures.PDF,
    "rtf": b"{\\rtf1 hello}",
    "docx": pictures.docx(),
    "xlsx": office("[Content_Types].xml", "xl/workbook.xml"),
    "pptx": office("[Content_Types].xml", "ppt/presentation.xml"),
    "odt": open_document("text"),
    "ods": open_document("spreadsheet"),
    "txt": "plain text, grüße\n".encode(),
    "ics": b"BEGIN:VCALENDAR\r\n",
    "vcf": b"BEGIN:VCARD\r\n",
}
LEFT_OUT = {
    "a program for Windows": b"MZ\x90\x00",
    "a program for Linux": b"\x7fELF\x02",
    "a program for a Mac": b"\xcf\xfa\xed\xfe",
    "a script": b"#!/bin/sh\nrm -rf /\n",
    "a shortcut": b"L\x00\x00\x00\x01\x14\x02\x00",
    "an SVG": b"<svg xmlns='http://www.w3.org/2000/svg'/>",
    "an SVG with a heading": b"<?xml version='1.0'?>\n<!-- x -->\n<!DOCTYPE svg>\n<svg/>",
    "an SVG with a mark before": b"\xef\xbb\xbf  <svg/>",
    "an SVG in UTF-16": "<svg/>".encode("utf-16"),
    "an SVG in something else": b"<x><svg/></x>",
    "a web page": b"<html><body>x",
    "a web page with a type": b"\n<!DOCTYPE html>\n<p>x",
    "a bit of a web page": b"<p>x</p><script>alert(1)</script>",
    "a program for a server": b"<?php system($_GET['x']);",
    "XML": b"<?xml version='1.0'?><x/>",
    "a ZIP archive": office("a.txt"),
    "an empty ZIP archive": office(),
    "a gzip archive": b"\x1f\x8b\x08",
    "a 7z archive": b"7z\xbc\xaf\x27\x1c",
    "a RAR archive": b"Rar!\x1a\x07\x00",
    "a tar archive": b"a.txt".ljust(257, b"\x00") + b"ustar\x00",
    "an Office file with macros": office("[Content_Types].xml", "word/document.xml", "word/vbaProject.bin"),
    "an old Office file": b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    "a film": b"\x00\x00\x00\x18ftypisom",
    "sound": b"ID3\x03",
    "a wave": b"RIFF\x00\x00\x00\x00WAVE",
    "no text": b"\x00\x01\x02",
    "text with a zero in it": b"plain\x00text",
}


@pytest.mark.parametrize("extension", KEPT)
def test_a_file_is_what_its_bytes_are(extension: str) -> None:
    """What a mail calls it is a wish."""
    kind = kind_of(
        KEPT[extension], "invoice.exe" if extension != "txt" else "x.jpg", "application/x-msdownload"
    )
    assert (kind.extension, kind.refusal) == (extension, None)


@pytest.mark.parametrize("what", LEFT_OUT)
def test_what_could_run_or_hide_something_is_left_out(what: str) -> None:
    assert kind_of(LEFT_OUT[what], "photo.jpg", "image/jpeg").refusal


@pytest.mark.parametrize("name", ["run.bat", "x.js", "X.PHP", "page.html", "a.b.vbs", "drawing.svg"])
def test_text_that_calls_itself_a_program_is_left_out(name: str) -> None:
    assert kind_of(b"hello", name, "text/plain").refusal


def test_a_table_is_known_by_what_it_is_called() -> None:
    """Bytes do not tell a table from text; here the mail may have its say."""
    assert kind_of(b"a,b", "prices.CSV", "text/plain").extension == "csv"
    assert kind_of(b"a,b", "", "text/csv").extension == "csv"
    assert kind_of(b"a,b", "prices.txt", "text/plain").extension == "txt"


def test_names_are_ours_and_numbered() -> None:
    parts = [
        Part("x/y", pictures.PDF, file_name="../../etc/passwd"),
        Part("x/y", pictures.jpeg()),
        Part("x/y", b"text"),
    ]
    names = [file.name for file in sort_files([*parts, *parts]).found]
    assert names == [
        *("document-1.pdf", "image-1.jpg", "document-2.txt"),
        *("document-3.pdf", "image-2.jpg", "document-4.txt"),
    ]


def test_too_many_and_too_large_files_are_named() -> None:
    many = sort_files([Part("text/plain", b"x", file_name=f"{number}.txt") for number in range(FILES + 2)])
    assert len(many.found) == FILES
    assert [file.claimed_name for file in many.skipped] == [f"{FILES}.txt", f"{FILES + 1}.txt"]
    large = sort_files([Part("text/plain", b"x" * (FILE_BYTES + 1), file_name="large.txt")])
    assert [(file.claimed_name, file.problem) for file in large.skipped] == [
        ("large.txt", FileProblem.TOO_LARGE)
    ]


def parsed(body: bytes) -> ParsedMail:
    mail = read(b"From: scott@example.com\r\nContent-Type: " + body)
    assert isinstance(mail, ParsedMail)
    return mail


def test_what_belongs_to_a_letter_is_no_part_of_its_words() -> None:
    """Whatever stands beside the first part of a `related` is something that part points at."""
    mail = parsed(
        b"multipart/related; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n--b\r\n"
        b"Content-Type: text/html\r\n\r\n<html>frame</html>\r\n--b--\r\n"
    )
    assert mail.own_words == "hello"
    assert [file.claimed_name for file in mail.skipped] == [""]


def test_a_torn_container_inside_a_mail_is_named() -> None:
    """The rest of the mail is still worth reading."""
    mail = parsed(
        b"multipart/mixed; boundary=b\r\n\r\n--b\r\n\r\nhello\r\n--b\r\n"
        b"Content-Type: multipart/mixed\r\n\r\nwhere are they?\r\n--b--\r\n"
    )
    assert mail.own_words == "hello"
    assert [file.problem for file in mail.skipped] == [FileProblem.DAMAGED]


def test_a_part_without_name_and_content_is_nothing() -> None:
    files = sort_files([Part("application/octet-stream")])
    assert (files.found, files.skipped) == ([], [])


class TwoKinds:
    """Accepts every second picture."""

    def __init__(self) -> None:
        self.seen = 0

    async def web_ready(self, content: bytes) -> WebImage | NoImage:
        self.seen += bool(content)
        return (
            WebImage(b"new", "image/jpeg", "jpg", 1, 1) if self.seen % 2 else NoImage(FileProblem.TOO_SMALL)
        )


async def test_pictures_are_made_anew_and_the_rest_is_left_alone() -> None:
    """A picture that can't be used is said to the person who sent it; the others keep their names."""
    picture = b"Content-Type: image/png\r\n\r\n\x89PNG\r\n\x1a\n\r\n--b\r\n"
    raw = (
        b"From: scott@example.com\r\nContent-Type: multipart/mixed; boundary=b\r\n\r\n--b\r\n"
        + picture * 3
        + b"Content-Disposition: attachment; filename=a.txt\r\n\r\nkept\r\n--b--\r\n"
    )
    mail = read(raw)
    assert isinstance(mail, ParsedMail)
    ready = await web_ready(mail, TwoKinds())
    assert [(file.name, file.content) for file in ready.files] == [
        ("image-1.jpg", b"new"),
        ("image-3.jpg", b"new"),
        ("document-1.txt", b"kept"),
    ]
    assert [(file.claimed_name, file.problem) for file in ready.skipped] == [("", FileProblem.TOO_SMALL)]
    assert ready.own_words == mail.own_words
