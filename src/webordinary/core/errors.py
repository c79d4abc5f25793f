"""Every error of ours, as a tree.

WebordinaryError
├── BadInput              a person or a script broke a rule; the message says which
│   ├── BadLane           a project or user name that cannot be a lane
│   └── BadLimits         settings that contradict each other
├── NotFound              no such lane, job or worker
├── NotAllowed            it exists, but its state forbids what was asked
├── ClaimLost             a word from a former owner: somebody else may hold the lane now
├── CannotTellNow         who sent a mail can't be looked up just now; asking again later may help
├── MailboxRefused        a mailbox's server said no to one thing; it may be asked another
├── MailboxUnavailable    a mailbox's server went away, or makes no sense; a command may have had its effect
│   └── LoginRefused      it does not know the user or the password
└── BackendUnavailable    the store did not answer; nothing is known about the call's effect
    ├── StoreBusy         another process holds the store's write lock
    ├── StoreFull         no room left where the store lives
    └── SchemaMismatch    the store was written by another version
"""

from __future__ import annotations


class WebordinaryError(Exception):
    """Root of all errors that this project raises on purpose."""


class BadInput(WebordinaryError):
    """A rule was broken by what was given; trying again without a change is useless."""


class BadLane(BadInput):
    """A project or user name that cannot be a lane."""


class BadLimits(BadInput):
    """Limits that contradict each other."""


class NotFound(WebordinaryError):
    """There is no such thing."""


class NotAllowed(WebordinaryError):
    """The thing is there, but what was asked is no allowed move from its state."""


class ClaimLost(WebordinaryError):
    """The claim is not the current one of its lane: stop, and publish nothing of it."""


class CannotTellNow(WebordinaryError):
    """Who sent a mail can't be looked up just now. Nothing was kept of it; it may come again."""


class MailboxRefused(WebordinaryError):
    """The server of a mailbox said no to one command. The connection is as good as before."""


class MailboxUnavailable(WebordinaryError):
    """The server of a mailbox can't be used now. What was asked last may or may not have been done."""


class LoginRefused(MailboxUnavailable):
    """The server of a mailbox did not let us in."""


class BackendUnavailable(WebordinaryError):
    """The store did not answer. The call may or may not have taken effect; repeating it is safe.

    The reason says why without saying which call it was: many calls may fail for one reason.
    """

    def __init__(self, text: str, reason: str = "") -> None:
        """Tell people the text; without a reason of its own it is one."""
        super().__init__(text)
        self.reason = reason or text


class StoreBusy(BackendUnavailable):
    """Another process held the store's write lock for too long."""


class StoreFull(BackendUnavailable):
    """There is no room left where the store lives. What was acknowledged before is kept."""


class SchemaMismatch(BackendUnavailable):
    """The store was written by another version of this program."""
