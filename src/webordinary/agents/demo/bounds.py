"""How much the demo agent reads and writes: a hostile site costs it seconds, not minutes."""

from __future__ import annotations

from webordinary.core.failure import DemoObstacle

PAGES_MAX = 200
FILES_MAX = 20_000  # looked at in the tree
PAGE_BYTES, PAGES_BYTES = 256_000, 1_500_000
PAGE_TAGS = 10_000  # "<" in one page; parsing is quadratic for some nestings
PAGE_DEPTH = 200  # of elements in elements, so that recursion is safe
PICTURE_BYTES = 20_000_000

INSTRUCTION_CHARACTERS = 8_000
REQUESTS_MAX = 20
REQUEST_CHARACTERS = 2_500
TITLE_CHARACTERS, TEXT_CHARACTERS = 300, 2_000
SHOWN_CHARACTERS = 70  # of a text that is told back
TAKE_TIME_SECONDS = 600  # the most that "take your time" waits


class CannotDo(Exception):
    """Why a request can't be carried out: the reason for the operator, the obstacle for who asked.

    Raised from deep inside a search and caught in one place, where the whole mail is refused.
    """

    def __init__(self, reason: str, obstacle: DemoObstacle = DemoObstacle.NOT_SAFE, about: str = "") -> None:
        """`about` are the words of the mail or of the site that it is about."""
        super().__init__(reason)
        self.obstacle, self.about = obstacle, about


def shown(text: str) -> str:
    """A text as it is told back: in quotes, on one line, shortened."""
    line = " ".join(text.split())
    return f"“{line}”" if len(line) <= SHOWN_CHARACTERS else f"“{line[: SHOWN_CHARACTERS - 1].rstrip()}…”"
