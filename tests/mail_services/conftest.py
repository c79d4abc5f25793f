"""A gateway's door for mail services: a real listener, a real store, real signatures in a DNS zone."""

from __future__ import annotations

import json
import sqlite3
import threading
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from tests.authentication.world import OWNER, letter, resolver, signed
from tests.flows.door import NoPictures
from tests.mail_services.services import Posted, resend_mails, settings
from tests.waiting import HANG_SECONDS
from webordinary.backends.sqlite import engine
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.lane import Lane
from webordinary.core.limits import Limits
from webordinary.core.mail import MailRecord, ParsedMail, SignedParts, UnreadableMail
from webordinary.core.site import Member, Project
from webordinary.dispatch.submit import QuotaLimits
from webordinary.flows.receive import Reception
from webordinary.intake.authenticate import Trust
from webordinary.intake.read import read
from webordinary.mail.checks.checks import OriginChecks
from webordinary.mail.services.endpoint import InboundDoor
from webordinary.ports.backend import Backend
from webordinary.ports.resolver import Resolver
from webordinary.system.clock import SystemClock
from webordinary.wiring.embedded import store_path
from webordinary.wiring.mail_services import open_inbound_door
from webordinary.wiring.settings import MailSettings

TOKEN_KEY = b"k" * 32


class Reader:
    """Reads in this process: the bounds have tests of their own."""

    async def read(
        self, raw: bytes, signed: SignedParts | None = None, sender: str = ""
    ) -> ParsedMail | UnreadableMail:
        return read(raw, ("us.example",), signed, sender)


@cache
def written(text: str = "Change the title to Spring Sale", number: int = 1, **headers: str) -> bytes:
    """A mail of the owner's, signed by the owner's domain."""
    return signed(letter(OWNER, body=text + "\r\n", **{"Message_ID": f"<{number}@victim.example>"} | headers))


@dataclass
class Room:
    """A door and what is behind it."""

    backend: Backend
    reception: Reception
    door: InboundDoor
    address: str
    client: httpx.AsyncClient
    folder: Path

    async def post(self, posted: Posted) -> httpx.Response:
        return await self.client.post(self.address + posted.path, headers=posted.headers, content=posted.body)

    async def jobs(self) -> list[str]:
        return [job.instruction for job in reversed(await self.backend.ledger.jobs(limit=50))]

    async def mails(self) -> list[MailRecord]:
        return await self.backend.mailbox.mails(limit=50)

    @contextmanager
    def store_down(self) -> Iterator[None]:
        """Another program keeps the store locked."""
        other = sqlite3.connect(store_path(self.folder / "home"))
        other.execute("BEGIN IMMEDIATE")
        yield
        other.close()


Opening = Callable[..., Awaitable[Room]]


@pytest.fixture
async def open_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, resend_api: str
) -> AsyncIterator[Opening]:
    monkeypatch.setattr(engine, "FOREIGN_LOCK_SECONDS", 0.05)
    opened: list[tuple[Room, OriginChecks]] = []

    async def opening(
        trust: Trust | None = None, dns: Resolver | None = None, mail: MailSettings | None = None
    ) -> Room:
        clock = SystemClock()
        backend = open_sqlite(tmp_path / "home", clock, Limits())
        checks = OriginChecks(dns or resolver(), clock)
        reception = Reception(
            backend=backend,
            reader=Reader(),
            checks=checks,
            images=NoPictures(),
            clock=clock,
            trust=trust or Trust(addresses=("edit@us.example",)),
            quotas=QuotaLimits(),
            token_key=TOKEN_KEY,
        )
        await backend.directory.add_project(Project("amelia"))
        await backend.directory.add_member(Member(Lane.parse("amelia/scott"), OWNER))
        door = open_inbound_door(mail or settings(resend_api), reception, None)
        assert door is not None
        address = (await door.start()).partition("/inbound")[0]
        room = Room(backend, reception, door, address, httpx.AsyncClient(timeout=HANG_SECONDS), tmp_path)
        opened.append((room, checks))
        return room

    yield opening
    for room, checks in opened:
        await room.client.aclose()
        await room.door.stop()
        checks.close()
        room.backend.close()


@pytest.fixture
async def room(open_room: Opening) -> Room:
    return await open_room()


class _ResendApi(BaseHTTPRequestHandler):
    """Resend's API: where a mail is, and the mail itself."""

    def do_GET(self) -> None:
        number = self.path.rpartition("/")[2]
        host = f"http://{self.headers['Host']}"
        if self.path.startswith("/raw/"):
            is_allowed, body = "Authorization" not in self.headers, resend_mails.get(number)
        else:
            is_allowed = self.headers.get("Authorization") == "Bearer re_key"
            body = json.dumps({"raw": {"download_url": f"{host}/raw/{number}"}}).encode()
        self.send_response(401 if not is_allowed else 404 if number not in resend_mails else 200)
        self.end_headers()
        self.wfile.write(body if body and is_allowed else b"")

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture(scope="session")
def resend_api() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _ResendApi) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()
