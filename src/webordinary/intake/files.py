"""The files of a mail, under names of our making; what is left out is said, with its reason."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from webordinary.core.mail import FileProblem, FoundFile, ParsedMail, SkippedFile
from webordinary.intake.kinds import kind_of
from webordinary.intake.limits import FILE_BYTES, FILES, ID_CHARACTERS
from webordinary.intake.parts import Part
from webordinary.ports.images import Images, NoImage, WebImage


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
