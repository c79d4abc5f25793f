"""What is asked of an IMAP server: a few verbs that block, each of them one command or two.

`MailboxRefused`: the server said no, and may be asked something else. Whatever else is raised, of any type,
means that this connection is of no more use.
"""

from __future__ import annotations

import base64
import contextlib
import imaplib
import re
import ssl
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from webordinary.core.errors import LoginRefused, MailboxRefused, MailboxUnavailable
from webordinary.core.text import one_line
from webordinary.mail.imap.client import ImapClient
from webordinary.mail.smtp.relay import Encryption

UIDS_AT_ONCE = 100  # in one command; servers need not read lines of more than 8,000 bytes
SAID_CHARACTERS = 200
DAY_SECONDS = 24 * 3600.0

_TRY_LATER = re.compile(
    r"\[(?:UNAVAILABLE|INUSE|LIMIT|SERVERBUG)|temporar|try again|too many|bandwidth limits", re.IGNORECASE
)
_UID = re.compile(rb"\bUID (\d+)")
_SIZE = re.compile(rb"\bRFC822\.SIZE (\d+)")
_BODY = re.compile(rb"\bBODY\[(?:HEADER)?\]", re.IGNORECASE)
_NAMESPACE = re.compile(rb'\(\("((?:[^"\\]|\\.)*)" (?:"(.|\\.)"|NIL)')
_DELIMITER = re.compile(rb'\([^)]*\) (?:"(.|\\.)"|NIL)')
_TO_ENCODE = re.compile("&|[^\x20-\x7e]+")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_IS_THERE = re.compile("already ?exists?", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ImapAccount:
    """Which mailbox to read."""

    host: str
    user: str
    password: str = field(repr=False)
    port: int = 993
    folder: str = "INBOX"
    done_folder: str = "Webordinary"  # where mail goes that was received; "" leaves it where it is
    encryption: Encryption = Encryption.TLS
    take_all: bool = False  # also mail that was there before the first contact
    only_addressed: bool = False  # leave mail alone that names no address of ours

    @property
    def name(self) -> str:
        """The folder among all folders of all servers."""
        return f"{self.user}@{self.host.lower()}/{self.folder}"


@dataclass(frozen=True, slots=True)
class FolderState:
    """What the server says of a folder when it is opened."""

    uid_validity: int  # 0 where the server does not tell
    uid_next: int
    mails: int


class ImapConnection:
    """A folder that is open on a server."""

    def __init__(self, account: ImapAccount) -> None:
        """Connect once `open` is called."""
        self._account = account
        self._client: ImapClient | None = None
        self._done_folder = ""  # as the server calls it, once a mail was moved there
        self._closed = False

    # --- coming and going ---------------------------------------------------------------------------------

    def open(self) -> FolderState:
        """Connect, log in, and open the folder."""
        account = self._account
        tls = None if account.encryption is Encryption.NONE else ssl.create_default_context()
        client = ImapClient(account.host, account.port, tls if account.encryption is Encryption.TLS else None)
        self._client = client
        if self._closed:
            self.hang_up()
        if tls is not None and account.encryption is Encryption.STARTTLS:
            client.encrypt(tls)
        self._log_in(client)
        if self._can("ID"):
            with contextlib.suppress(MailboxRefused):  # some providers let in only who says what it is
                self._ask("ID", '("name" "webordinary")')
        return self._select(client)

    def hang_up(self) -> None:
        """Close the connection, from any thread: whoever waits for the server comes back."""
        self._closed = True
        if self._client is not None:
            self._client.hang_up()

    @property
    def can_idle(self) -> bool:
        """Whether the server tells of new mail by itself."""
        return self._can("IDLE")

    def _can(self, capability: str) -> bool:
        return self._client is not None and capability in self._client.capabilities

    def _log_in(self, client: ImapClient) -> None:
        account = self._account
        if client.state == "AUTH":  # the server knows who connects
            return
        try:
            client.sign_in(account.user, account.password)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            said = (
                error_text(error).replace(account.password, "...") if account.password else error_text(error)
            )
            if _TRY_LATER.search(said):
                raise MailboxUnavailable(said) from None
            raise LoginRefused(
                f"the login is refused ({said}). Look at user and password in [mail] imap;"
                " many providers want an app password"
            ) from None

    def _select(self, client: ImapClient) -> FolderState:
        folder = encoded_name(self._account.folder)
        try:
            status, said = client.select(folder)
        except imaplib.IMAP4.readonly:
            status, said = client.select(folder, readonly=True)
        if status != "OK":
            raise MailboxUnavailable(
                f"the folder {self._account.folder} can't be opened: {error_text(said[-1])}"
            )
        mails = _number(client.untagged_responses.get("EXISTS"))
        validity = _number(client.untagged_responses.get("UIDVALIDITY"))
        uid_next = _number(client.untagged_responses.get("UIDNEXT"))
        if not uid_next:
            uid_next = max(self._search("ALL"), default=0) + 1 if mails else 1
        return FolderState(validity, uid_next, mails)

    # --- asking -------------------------------------------------------------------------------------------

    def uids(self, first: int, others: Sequence[int] = ()) -> list[int]:
        """List the mails from this UID on and those of the others that are still there, oldest first.

        Mail that is marked as deleted was deleted by somebody.
        """
        self._ask("NOOP")  # some servers show new mail only then
        try:
            found = set(self._search(f"UID {first}:* UNDELETED"))
        except MailboxRefused:  # by some servers, when the folder is empty
            found = set(self._search("UNDELETED"))
        listed = {uid for uid in found if uid >= first}  # "n:*" always has the last one
        for some in _batches(others):
            listed.update(set(self._search(f"UID {_uid_set(some)} UNDELETED")) & set(some))
        return sorted(listed)

    def uids_since(self, moment: float) -> list[int]:
        """List the mails that came since then by the server's clock; of which that is unknown, too."""
        day = time.gmtime(max(moment - DAY_SECONDS, 0.0))  # it counts days of its own time zone
        date = f"{day.tm_mday}-{_MONTHS[day.tm_mon - 1]}-{day.tm_year}"
        candidates = self._search(f"SINCE {date} UNDELETED")
        older = set()
        for some in _batches(candidates):
            for uid, item in self._fetched(some, "(UID INTERNALDATE)"):
                came = imaplib.Internaldate2tuple(item)
                if came is not None and time.mktime(came) < moment:
                    older.add(uid)
        return [uid for uid in candidates if uid not in older]

    def size(self, uid: int) -> int:
        """Ask how large a mail is; 0 if the server does not tell."""
        with contextlib.suppress(MailboxRefused):
            for number, item in self._fetched([uid], "(UID RFC822.SIZE)"):
                found = _SIZE.search(item)
                if number == uid and found:
                    return int(found[1])
        return 0

    def fetch(self, uid: int, *, header_only: bool = False) -> bytes | None:
        """Read a mail as it came, without marking it as read; None if it is gone."""
        answer = self._ask_uid("FETCH", str(uid), f"(UID BODY.PEEK[{'HEADER' if header_only else ''}])")
        for number, item in enumerate(answer):
            # The UID may stand before the mail or behind it; other mails may be reported in between.
            if not isinstance(item, tuple) or not _BODY.search(item[0]):
                continue
            behind = answer[number + 1] if number + 1 < len(answer) else b""
            about = _UID.search(item[0]) or (isinstance(behind, bytes) and _UID.search(behind))
            if about and int(about[1]) == uid:
                return bytes(item[1])
        if self._search(f"UID {uid}"):
            raise MailboxRefused("it gives no content for this mail")
        return None

    def move_aside(self, uid: int) -> None:
        """Move a mail to the folder of those that were received; make that if it is not there."""
        names = (self._done_folder,) if self._done_folder else self._done_names()
        for name in names:
            try:
                self._move(uid, name)
            except MailboxRefused as refusal:
                if not self._is_made(name, refusal, is_last=name == names[-1]):
                    continue
                self._move(uid, name)
            self._done_folder = name
            return

    def wait(self, seconds: float) -> bool:
        """Wait until the server tells of new mail, at most so long; say whether it did."""
        assert self._client is not None
        return self._client.wait_for_mail(seconds)

    # --- moving -------------------------------------------------------------------------------------------

    def _move(self, uid: int, folder: str) -> None:
        if self._can("MOVE"):
            self._ask_uid("MOVE", str(uid), encoded_name(folder))
            return
        self._ask_uid("COPY", str(uid), encoded_name(folder))
        with contextlib.suppress(MailboxRefused):  # then it stays, and there is a copy
            self._ask_uid("STORE", str(uid), "+FLAGS.SILENT", r"(\Deleted)")
            if self._can("UIDPLUS"):  # a plain EXPUNGE would take along what others marked as deleted
                self._ask_uid("EXPUNGE", str(uid))

    def _is_made(self, folder: str, refusal: MailboxRefused, *, is_last: bool) -> bool:
        """Make the folder, for a mail could not be moved there. If it is there, that was not the reason."""
        if "OVERQUOTA" in str(refusal).upper():
            raise refusal
        try:
            self._ask("CREATE", encoded_name(folder))
        except MailboxRefused as error:
            if is_last or _IS_THERE.search(str(error)):
                raise refusal from error
            return False
        with contextlib.suppress(MailboxRefused):  # then mail programs may not show it
            self._ask("SUBSCRIBE", encoded_name(folder))
        return True

    def _done_names(self) -> tuple[str, ...]:
        """How the folder may be called: some servers keep all folders below another one."""
        prefix, delimiter = self._namespace()
        name = self._account.done_folder.replace("/", delimiter or "/")
        if prefix and not name.startswith(prefix):
            return (prefix + name, name)
        inbox = f"INBOX{delimiter or '.'}"
        return (name,) if name.startswith(inbox) else (name, inbox + name)

    def _namespace(self) -> tuple[str, str]:
        """The beginning of the names of all own folders, and what stands between two levels."""
        try:
            if self._can("NAMESPACE"):
                found = _NAMESPACE.match(_bytes(self._ask("NAMESPACE")))
                return (_unquoted(found[1]), _unquoted(found[2] or b"")) if found else ("", "")
            found = _DELIMITER.match(_bytes(self._ask("LIST", '""', '""')))
            return "", _unquoted(found[1] or b"") if found else ""
        except MailboxRefused:
            return "", ""

    # --- commands -----------------------------------------------------------------------------------------

    def _search(self, criteria: str) -> list[int]:
        answer = self._ask_uid("SEARCH", criteria)
        return sorted({int(uid) for line in answer if isinstance(line, bytes) for uid in line.split()})

    def _fetched(self, uids: Sequence[int], items: str) -> Iterable[tuple[int, bytes]]:
        for item in self._ask_uid("FETCH", _uid_set(uids), items) if uids else ():
            line = _bytes([item])
            if found := _UID.search(line):
                yield int(found[1]), line

    def _ask(self, name: str, *arguments: str) -> list[Any]:
        assert self._client is not None
        return self._answer(lambda client: client.ask(name, *arguments))

    def _ask_uid(self, name: str, *arguments: str) -> list[Any]:
        return self._answer(lambda client: client.uid(name, *arguments))

    def _answer(self, ask: Callable[[ImapClient], tuple[str, list[Any]]]) -> list[Any]:
        assert self._client is not None
        self._client.untagged_responses.clear()  # of earlier commands; a long life would pile them up
        try:
            status, answer = ask(self._client)
        except imaplib.IMAP4.abort:
            raise
        except imaplib.IMAP4.error as error:
            raise MailboxRefused(error_text(error)) from None
        if status != "OK":
            raise MailboxRefused(error_text(answer[-1]))
        return [item for item in answer if item is not None]


def probe(account: ImapAccount) -> str:
    """Log in and open the folder, and say what was found; `MailboxUnavailable` if that can't be done."""
    connection = ImapConnection(account)
    try:
        folder = connection.open()
    except MailboxUnavailable:
        raise
    except Exception as error:
        raise MailboxUnavailable(
            f"{account.host}:{account.port} can't be used: {error_text(error)}"
        ) from error
    finally:
        connection.hang_up()
    told_at_once = (
        "tells of new mail at once" if connection.can_idle else "is asked for new mail now and then"
    )
    return (
        f"{account.user} is let in, {account.folder} has {folder.mails} mails; {account.host} {told_at_once}"
    )


def error_text(error: object) -> str:
    """What the server said, or what became of it, as one short line."""
    if isinstance(error, Exception) and error.args:
        error = error.args[0] if len(error.args) == 1 else error
    text = error.decode("utf-8", "replace") if isinstance(error, bytes) else str(error)
    text = re.sub(r"^(?:command: [A-Z]+ => )+", "", text)
    return one_line(text, SAID_CHARACTERS) or type(error).__name__


def encoded_name(folder: str) -> str:
    """A folder's name as IMAP writes it: quoted, in its own kind of UTF-7 (RFC 3501, 5.1.3)."""

    def shifted(found: re.Match[str]) -> str:
        coded = base64.b64encode(found[0].encode("utf-16-be")).decode().rstrip("=").replace("/", ",")
        return "&-" if found[0] == "&" else f"&{coded}-"

    escaped = _TO_ENCODE.sub(shifted, folder).replace("\\", r"\\").replace('"', r"\"")
    return f'"{escaped}"'


def _number(values: Sequence[Any] | None) -> int:
    last = values[-1] if values else b""
    return int(last) if isinstance(last, bytes) and last.isdigit() else 0


def _bytes(items: Sequence[Any]) -> bytes:
    """The items of an answer in one line."""
    return b" ".join(part for item in items for part in (item if isinstance(item, tuple) else (item,)))


def _unquoted(text: bytes) -> str:
    return re.sub(rb"\\(.)", rb"\1", text).decode("ascii", "replace")


def _uid_set(uids: Sequence[int]) -> str:
    return ",".join(map(str, uids))


def _batches(uids: Sequence[int]) -> Iterable[Sequence[int]]:
    """Cut a list of mails to what fits into one command."""
    return (uids[start : start + UIDS_AT_ONCE] for start in range(0, len(uids), UIDS_AT_ONCE))
