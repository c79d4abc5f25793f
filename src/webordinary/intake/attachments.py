"""What a file of a mail is, by its first bytes, and under which name it is kept.

What a mail says about it decides nothing but between .txt and .csv.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from webordinary.core.mail import FileProblem, FoundFile, ParsedMail, SkippedFile
from webordinary.intake.limits import FILE_BYTES, FILES, ID_CHARACTERS
from webordinary.intake.mime_parts import Part
from webordinary.ports.images import Images, NoImage, WebImage


@dataclass(frozen=True, slots=True)
class FileKind:
    """A kind of file: as what it is kept, or why it is not."""

    mime: str = ""
    extension: str = ""
    family: str = "document"  # the first word of our name for it
    refusal: FileProblem | None = None


def _picture(name: str, extension: str) -> FileKind:
    return FileKind(f"image/{name}", extension, "image")


def _refused(reason: FileProblem) -> FileKind:
    return FileKind(refusal=reason)


_MAGIC: tuple[tuple[bytes, FileKind], ...] = (
    (b"\xff\xd8\xff", _picture("jpeg", "jpg")),
    (b"\x89PNG\r\n\x1a\n", _picture("png", "png")),
    (b"GIF87a", _picture("gif", "gif")),
    (b"GIF89a", _picture("gif", "gif")),
    (b"II*\x00", _picture("tiff", "tif")),
    (b"MM\x00*", _picture("tiff", "tif")),
    (b"BM", _picture("bmp", "bmp")),
    (b"%PDF-", FileKind("application/pdf", "pdf")),
    (b"{\\rtf", FileKind("application/rtf", "rtf")),
    (b"\x78\x9f\x3e\x22", _refused(FileProblem.WINMAIL)),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", _refused(FileProblem.OLD_OFFICE)),
    (b"\x1f\x8b", _refused(FileProblem.ARCHIVE)),
    (b"BZh", _refused(FileProblem.ARCHIVE)),
    (b"\xfd7zXZ\x00", _refused(FileProblem.ARCHIVE)),
    (b"7z\xbc\xaf\x27\x1c", _refused(FileProblem.ARCHIVE)),
    (b"Rar!\x1a\x07", _refused(FileProblem.ARCHIVE)),
    (b"\x28\xb5\x2f\xfd", _refused(FileProblem.ARCHIVE)),
    (b"MSCF", _refused(FileProblem.ARCHIVE)),
    (b"MZ", _refused(FileProblem.PROGRAM)),
    (b"\x7fELF", _refused(FileProblem.PROGRAM)),
    (b"\xca\xfe\xba\xbe", _refused(FileProblem.PROGRAM)),
    (b"\xcf\xfa\xed\xfe", _refused(FileProblem.PROGRAM)),
    (b"\xce\xfa\xed\xfe", _refused(FileProblem.PROGRAM)),
    (b"\x00asm", _refused(FileProblem.PROGRAM)),
    (b"dex\n", _refused(FileProblem.PROGRAM)),
    (b"L\x00\x00\x00\x01\x14\x02\x00", _refused(FileProblem.PROGRAM)),
    (b"#!", _refused(FileProblem.PROGRAM)),
    (b"ID3", _refused(FileProblem.FILM_OR_SOUND)),
    (b"OggS", _refused(FileProblem.FILM_OR_SOUND)),
    (b"fLaC", _refused(FileProblem.FILM_OR_SOUND)),
    (b"\x1aE\xdf\xa3", _refused(FileProblem.FILM_OR_SOUND)),
    (b"BEGIN:VCALENDAR", FileKind("text/calendar", "ics")),
    (b"BEGIN:VCARD", FileKind("text/vcard", "vcf")),
)
_BRANDS = {
    **dict.fromkeys(
        (b"heic", b"heix", b"heim", b"heis", b"hevc", b"hevx", b"mif1", b"msf1"), _picture("heic", "heic")
    ),
    **dict.fromkeys((b"avif", b"avis"), _picture("avif", "avif")),
}
_RIFF = {b"WEBP": _picture("webp", "webp")}
_OFFICE = (
    (b"word/", "docx", "wordprocessingml.document"),
    (b"xl/", "xlsx", "spreadsheetml.sheet"),
    (b"ppt/", "pptx", "presentationml.presentation"),
)
_OPEN_DOCUMENT = re.compile(
    rb"mimetypeapplication/vnd\.oasis\.opendocument\.(text|spreadsheet|presentation)PK"
)
_ODF_EXTENSIONS = {b"text": "odt", b"spreadsheet": "ods", b"presentation": "odp"}
_TEXT_CONTROLS = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_MARKUP_LEAD = re.compile(
    rb"(?:\s|<\?xml[^>]{0,200}\?>|<!--[^>]{0,500}-->|<!doctype[^>]{0,500}>)*+", re.IGNORECASE
)
_WEB_TAGS = (b"<html", b"<head", b"<body", b"<script", b"<iframe", b"<object", b"<embed")
_PROGRAM_NAMES = re.compile(
    r"\.(?:exe|com|bat|cmd|ps1|vbs|vbe|js|jse|mjs|wsf|wsh|hta|msi|scr|pif|lnk|jar|app|apk|dmg|sh|bash|py|pl|rb|php\d?|phtml"
    r"|asp|aspx|jsp|cgi|htaccess|reg|url|desktop|html?|xhtml|shtml|svgz?|xml|mht)$",
    re.IGNORECASE,
)
_BOMS = (b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff")
_HEAD_BYTES = 4096
_TAR_MARK = slice(257, 262)


def kind_of(content: bytes, claimed_name: str, claimed_kind: str) -> FileKind:
    """Say what a file is."""
    for magic, kind in _MAGIC:
        if content.startswith(magic):
            return kind
    if content.startswith(b"PK"):
        return _of_zip(content)
    if content[4:8] == b"ftyp":
        return _BRANDS.get(content[8:12], _refused(FileProblem.FILM_OR_SOUND))
    if content.startswith(b"RIFF"):
        return _RIFF.get(content[8:12], _refused(FileProblem.FILM_OR_SOUND))
    if content[_TAR_MARK] == b"ustar":
        return _refused(FileProblem.ARCHIVE)
    return _of_text(content, claimed_name, claimed_kind)


def _of_zip(content: bytes) -> FileKind:
    """Office documents are archives too; their parts have names that others do not. Nothing is unpacked."""
    if b"vbaProject.bin" in content:
        return _refused(FileProblem.WITH_MACROS)
    if b"[Content_Types].xml" in content:
        for folder, extension, name in _OFFICE:
            if folder in content:
                return FileKind(f"application/vnd.openxmlformats-officedocument.{name}", extension)
    found = _OPEN_DOCUMENT.search(content[:200])
    if found:
        name = found[1].decode()
        return FileKind(f"application/vnd.oasis.opendocument.{name}", _ODF_EXTENSIONS[found[1]])
    return _refused(FileProblem.ARCHIVE)


def _of_text(content: bytes, claimed_name: str, claimed_kind: str) -> FileKind:
    head = content[:_HEAD_BYTES]
    is_wide = content.startswith(_BOMS[1:])
    if not is_wide and _TEXT_CONTROLS.search(content):
        return _refused(FileProblem.UNKNOWN)
    plain = head.replace(b"\x00", b"") if is_wide else head
    for bom in _BOMS:
        plain = plain.removeprefix(bom)
    lead = _MARKUP_LEAD.match(plain)
    first = plain[lead.end() if lead else 0 :].lower()
    if first.startswith(b"<svg") or (b"<svg" in plain.lower() and plain.lstrip().startswith(b"<")):
        return _refused(FileProblem.SVG)
    if first.startswith(_WEB_TAGS) or b"<!doctype html" in plain.lower() or b"<script" in plain.lower():
        return _refused(FileProblem.WEB_PAGE)
    if plain.lstrip()[:5].lower() in {b"<?xml", b"<?php"} or _PROGRAM_NAMES.search(claimed_name):
        return _refused(FileProblem.PROGRAM if _PROGRAM_NAMES.search(claimed_name) else FileProblem.UNKNOWN)
    if claimed_kind == "text/csv" or claimed_name.lower().endswith(".csv"):
        return FileKind("text/csv", "csv")
    return FileKind("text/plain", "txt")


@dataclass(slots=True)
class Files:
    """What was found and what was left out."""

    found: list[FoundFile] = field(default_factory=list)
    skipped: list[SkippedFile] = field(default_factory=list)


def sort_files(parts: Iterable[Part]) -> Files:
    """Look at every part that is not the letter itself. Pictures are as they came: see `web_ready`."""
    files = Files()
    numbers: dict[str, int] = {}
    for part in parts:
        if not part.content and not part.file_name and not part.is_torn:
            continue
        kind = kind_of(part.content, part.file_name, part.kind)
        problem = _problem(part, len(files.found)) or kind.refusal
        if problem:
            files.skipped.append(SkippedFile(part.file_name, problem))
            continue
        numbers[kind.family] = number = numbers.get(kind.family, 0) + 1
        name = f"{kind.family}-{number}.{kind.extension}"
        content_id = part.content_id[:ID_CHARACTERS]
        files.found.append(FoundFile(name, part.file_name, kind.mime, part.content, content_id))
    return files


def _problem(part: Part, found: int) -> FileProblem | None:
    if part.is_torn:
        return FileProblem.DAMAGED
    if not part.content:
        return FileProblem.EMPTY
    if len(part.content) > FILE_BYTES:
        return FileProblem.TOO_LARGE
    return FileProblem.TOO_MANY if found >= FILES else None


async def web_ready(mail: ParsedMail, images: Images) -> ParsedMail:
    """Make the pictures of a mail anew. For mail of a known sender: nobody else's pictures are decoded."""
    files, skipped = [], list(mail.skipped)
    for file in mail.files:
        if not file.kind.startswith("image/"):
            files.append(file)
            continue
        match await images.web_ready(file.content):
            case WebImage() as image:
                name = f"{file.name.rpartition('.')[0]}.{image.extension}"
                files.append(replace(file, name=name, kind=image.kind, content=image.content))
            case NoImage(problem):
                skipped.append(SkippedFile(file.claimed_name, problem))
    return replace(mail, files=tuple(files), skipped=tuple(skipped))


def with_names_of_pictures(text: str, files: Iterable[FoundFile]) -> str:
    """Put our names where the mail points at its pictures, so that "this one" can be understood."""
    for file in files:
        stem = file.name.rpartition(".")[0]
        if file.content_id:
            text = text.replace(f"[cid:{file.content_id}]", f"[{stem}]")
        if file.claimed_name and file.kind.startswith("image/"):
            text = text.replace(f"[image: {file.claimed_name}]", f"[{stem}]")
            text = text.replace(f"<{file.claimed_name}>", f"[{stem}]")
    return text
