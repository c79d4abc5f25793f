"""The reply to a mail: waited for, and read where its copy is kept."""

from __future__ import annotations

from dataclasses import dataclass
from email import message_from_bytes
from email.policy import default

from webordinary.core.job import ENDED
from webordinary.core.mail import FINAL_LETTERS, Letter, LetterKind, MailRecord
from webordinary.core.views import JobView
from webordinary.entrypoints.cli.desk import Desk
from webordinary.entrypoints.cli.words import FAINT, clean, indented, painted
from webordinary.ports.outbox import LetterState
from webordinary.wiring.stores import open_letters

LOOK_SECONDS = 0.1


@dataclass(frozen=True, slots=True)
class Answer:
    """The letter that ends it: how it stands, and what it says if that is known here."""

    standing: str = ""  # "": none is owed yet
    text: str = ""

    def tell(self) -> None:
        """Print it."""
        if self.text:
            print(f"\n{painted('reply', FAINT)}\n{indented(clean(self.text), 2)}")
        else:
            print(f"reply {clean(self.standing)}" if self.standing else "no reply yet")


async def answer_to(record: MailRecord, job: JobView | None, desk: Desk, deadline: float) -> Answer:
    """Wait until the letter that ends it is out."""
    standing = ""
    while job is None or job.state in ENDED:
        for letter, status in await desk.backend.outbox.letters(limit=20, about=record.job or record.id):
            if _is_final(letter, job):
                standing = f"{letter.kind.value}: {status}"
                if status.state is LetterState.SENT:
                    return Answer(standing, await _text(desk, letter))
        if desk.clock.monotonic() >= deadline:
            break
        await desk.clock.sleep(LOOK_SECONDS)
    return Answer(standing)


def _is_final(letter: Letter, job: JobView | None) -> bool:
    return letter.kind in FINAL_LETTERS if job is not None else letter.kind is not LetterKind.ACCEPTED


async def _text(desk: Desk, letter: Letter) -> str:
    kept = await open_letters(desk.settings).copy(letter.key)
    body = message_from_bytes(kept, policy=default).get_body(("plain",)) if kept else None
    return str(body.get_content()).replace("\r\n", "\n") if body is not None else ""
