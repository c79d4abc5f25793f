"""What mail needs, in memory: mailbox, directory, quotas, bounces, checkpoints and blobs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import islice

from webordinary.backends.quota import TOKEN_KEPT_SECONDS, Level, level, take_one
from webordinary.core.errors import NotFound
from webordinary.core.lane import Lane
from webordinary.core.mail import MailId, MailRecord, MailState, SessionId
from webordinary.core.site import Member, Project, Session
from webordinary.core.text import storable
from webordinary.ports.blobs import blob_key
from webordinary.ports.bounces import Bouncing
from webordinary.ports.checkpoints import Checkpoint
from webordinary.ports.clock import Clock
from webordinary.ports.quotas import Bucket


class MemoryMailbox:
    """See `Mailbox`."""

    def __init__(self) -> None:
        """Start empty."""
        self._mails: dict[MailId, MailRecord] = {}
        self._sessions: dict[SessionId, Session] = {}
        self._threads: dict[str, SessionId] = {}

    async def keep(self, record: MailRecord) -> MailRecord:
        """See `Mailbox.keep`."""
        if record.id not in self._mails:
            self._put(record)
        return self._mails[record.id]

    async def update(self, record: MailRecord) -> None:
        """See `Mailbox.update`."""
        if record.id not in self._mails:
            raise NotFound(f"there is no mail {record.id}")
        self._put(record)

    def _put(self, record: MailRecord) -> None:
        self._mails[record.id] = record
        if record.session is not None and record.message_id:
            self._threads.setdefault(record.message_id, record.session)

    async def mail(self, mail: MailId) -> MailRecord | None:
        """See `Mailbox.mail`."""
        return self._mails.get(mail)

    async def mails(
        self, *, limit: int, state: MailState | None = None, before: MailId | None = None
    ) -> list[MailRecord]:
        """See `Mailbox.mails`."""
        if before is not None and before not in self._mails:
            raise NotFound(f"there is no mail {before}")
        ids = list(self._mails)
        older = ids if before is None else ids[: ids.index(before)]
        newest_first = (self._mails[mail] for mail in reversed(older))
        return list(islice((record for record in newest_first if state in (None, record.state)), limit))

    async def begin(self, session: Session) -> Session:
        """See `Mailbox.begin`."""
        return self._sessions.setdefault(session.id, session)

    async def session(self, session: SessionId) -> Session | None:
        """See `Mailbox.session`."""
        return self._sessions.get(session)

    async def thread(self, message_ids: Sequence[str]) -> Session | None:
        """See `Mailbox.thread`."""
        for message_id in reversed(message_ids):
            session = self._threads.get(message_id)
            if session is not None and session in self._sessions:
                return self._sessions[session]
        return None

    async def remember(self, session: SessionId, message_id: str) -> None:
        """See `Mailbox.remember`."""
        self._threads[storable(message_id)] = session


class MemoryDirectory:
    """See `Directory`."""

    def __init__(self, clock: Clock) -> None:
        """Start empty."""
        self._clock = clock
        self._projects: dict[str, Project] = {}
        self._members: dict[tuple[str, str], Lane] = {}  # by project and address

    async def add_project(self, project: Project, *, change: bool = False) -> bool:
        """See `Directory.add_project`."""
        known = self._projects.get(project.name)
        if known is None or change:
            created_at = known.created_at if known else self._clock.now()
            self._projects[project.name] = replace(project, created_at=created_at)
        return known is None

    async def project(self, name: str) -> Project | None:
        """See `Directory.project`."""
        return self._projects.get(name)

    async def projects(self, *, limit: int, after: str = "") -> list[Project]:
        """See `Directory.projects`."""
        names = sorted(name for name in self._projects if name > after)
        return [self._projects[name] for name in names[:limit]]

    async def add_member(self, member: Member) -> Lane | None:
        """See `Directory.add_member`."""
        project = member.lane.project
        if project not in self._projects:
            raise NotFound(f"there is no project {project}")
        known = self._members.get((project, member.address))
        if known is None:
            self._members[project, member.address] = member.lane
        return known

    async def members(self, project: str) -> list[Member]:
        """See `Directory.members`."""
        found = [Member(lane, address) for (name, address), lane in self._members.items() if name == project]
        return sorted(found, key=lambda member: (member.lane.user, member.address))

    async def lanes_of(self, address: str) -> list[Lane]:
        """See `Directory.lanes_of`."""
        return sorted(lane for (_, known), lane in self._members.items() if known == address)

    async def remove_member(self, lane: Lane, address: str | None = None) -> int:
        """See `Directory.remove_member`."""
        gone = [key for key, known in self._members.items() if known == lane and address in (None, key[1])]
        for key in gone:
            del self._members[key]
        return len(gone)

    async def remove_project(self, name: str) -> bool:
        """See `Directory.remove_project`."""
        for key in [key for key in self._members if key[0] == name]:
            del self._members[key]
        return self._projects.pop(name, None) is not None


class MemoryQuotas:
    """See `Quotas`."""

    def __init__(self, clock: Clock) -> None:
        """Start with all buckets full."""
        self._clock = clock
        self._levels: dict[str, Level] = {}
        self._taken: dict[tuple[str, str], float] = {}  # when which token was taken from which bucket

    async def spend(self, buckets: Sequence[Bucket], token: str) -> Bucket | None:
        """See `Quotas.spend`."""
        now = self._clock.now()
        self._forget(now)
        unpaid = {bucket.key: bucket for bucket in buckets if (token, bucket.key) not in self._taken}
        left: dict[str, Level] = {}
        for key, bucket in unpaid.items():
            self._levels[key] = level(bucket, self._levels.get(key), now)
            after = take_one(bucket, self._levels[key])
            if after is None:
                return bucket
            left[key] = after
        self._levels |= left
        self._taken |= {(token, key): now for key in unpaid}
        return None

    def _forget(self, now: float) -> None:
        self._levels = {key: found for key, found in self._levels.items() if found.full_at > now}
        self._taken = {taken: at for taken, at in self._taken.items() if at > now - TOKEN_KEPT_SECONDS}


class MemoryBounces:
    """See `Bounces`."""

    def __init__(self, clock: Clock) -> None:
        """Start with none."""
        self._clock = clock
        self._known: dict[str, Bouncing] = {}

    async def note(self, address: str, letter: str, reason: str) -> Bouncing:
        """See `Bounces.note`."""
        address = storable(address)
        known = self._known.get(address) or Bouncing(address, (), self._clock.now(), "")
        self._known[address] = known.after(storable(letter), storable(reason))
        return self._known[address]

    async def forget(self, address: str) -> bool:
        """See `Bounces.forget`."""
        return self._known.pop(storable(address), None) is not None

    async def of(self, address: str) -> Bouncing | None:
        """See `Bounces.of`."""
        return self._known.get(storable(address))

    async def all(self, *, limit: int) -> list[Bouncing]:
        """See `Bounces.all`."""
        return [self._known[address] for address in sorted(self._known)][:limit]


class MemoryCheckpoints:
    """See `Checkpoints`."""

    def __init__(self) -> None:
        """Start with nothing read."""
        self._checkpoints: dict[str, Checkpoint] = {}

    async def load(self, folder: str) -> Checkpoint | None:
        """See `Checkpoints.load`."""
        return self._checkpoints.get(folder)

    async def save(self, folder: str, checkpoint: Checkpoint) -> None:
        """See `Checkpoints.save`."""
        self._checkpoints[folder] = checkpoint


class MemoryBlobs:
    """See `Blobs`."""

    def __init__(self) -> None:
        """Start empty."""
        self._contents: dict[str, bytes] = {}

    async def put(self, content: bytes) -> str:
        """See `Blobs.put`."""
        key = blob_key(content)
        self._contents[key] = content
        return key

    async def get(self, key: str) -> bytes:
        """See `Blobs.get`."""
        if key not in self._contents:
            raise NotFound(f"there is no blob {key}")
        return self._contents[key]
