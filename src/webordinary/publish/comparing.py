"""What a visitor gets now that was not there before: two releases, compared."""

from __future__ import annotations

from webordinary.core.release import Release
from webordinary.publish.kinds import is_page

PAGES_TOLD = 10


def became_visible(before: Release | None, after: Release) -> list[str]:
    """Tell the pages that changed, came or went, one line each; of other files only how many."""
    old = {file.path: file.sha256 for file in before.files} if before else {}
    new = {file.path: file.sha256 for file in after.files}
    different = sorted(path for path in old.keys() | new.keys() if old.get(path) != new.get(path))
    pages = [path for path in different if is_page(path)]
    lines = [f"{path}: {_what_happened(path, old, new)}" for path in pages[:PAGES_TOLD]]
    if len(pages) > PAGES_TOLD:
        lines.append(f"and {_counted(len(pages) - PAGES_TOLD, 'more page')}")
    if len(different) > len(pages):
        lines.append(_counted(len(different) - len(pages), "other file"))
    return lines


def _what_happened(path: str, old: dict[str, str], new: dict[str, str]) -> str:
    if path not in old:
        return "new"
    return "changed" if path in new else "removed"


def _counted(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number > 1 else ''}"
