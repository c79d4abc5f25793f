"""The one way out of reading a mail that can't be read. It never leaves this folder."""

from __future__ import annotations

from webordinary.core.mail import MailProblem


class CannotRead(Exception):
    """What is wrong with a mail: the problem for its sender, the reason for the operator."""

    def __init__(self, reason: str, problem: MailProblem = MailProblem.DAMAGED) -> None:
        """Say why."""
        super().__init__(reason)
        self.reason, self.problem = reason, problem
