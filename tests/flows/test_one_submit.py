"""The same wish is the same job by mail, command line, API and page; cloud: tests/cloud/test_ingest.py."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from tests.flows.door import Reader
from tests.flows.same_wish import AMELIA, SCOTT, WORDS, Seen, begin, expected, mail, seen
from webordinary.core.job import Arrival, Intent
from webordinary.core.mail import Envelope, MailState
from webordinary.dashboard.app import create_app
from webordinary.entrypoints.cli.main import main
from webordinary.ports.backend import Backend
from webordinary.wiring.mail import open_mail_room
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import load
from webordinary.wiring.web import dashboard_parts

TOKEN = "a-token-of-the-tests-0123456789"
HOST = "http://127.0.0.1:8025"
Way = Callable[[Path, Intent], None]


def in_store(home: Path, what: Callable[[Backend], Awaitable[None]]) -> None:
    """Do something with an open store."""

    async def done(backend: Backend) -> None:
        await what(backend)

    backend = open_backend(load(home, {}))
    try:
        asyncio.run(done(backend))
    finally:
        backend.close()


def by_mail(home: Path, intent: Intent) -> None:
    async def receive(backend: Backend) -> None:
        settings = load(home, {})
        room = open_mail_room(settings, backend, trust_loopback=True)
        raw = mail(intent, settings.mail.address).as_bytes()
        envelope = Envelope(peer="127.0.0.1", mail_from=SCOTT, recipients=(settings.mail.address,))
        try:
            reception = replace(room.reception, reader=Reader())
            assert (await reception.receive(raw, envelope)).state is MailState.ACCEPTED
        finally:
            await room.close()

    in_store(home, receive)


def by_command(home: Path, intent: Intent) -> None:
    words = ["submit", str(AMELIA), WORDS[intent]] if intent is Intent.EDIT else [intent.value, str(AMELIA)]
    assert main([*words, "--home", str(home)]) == 0


def by_http(home: Path, ask: Callable[[httpx.AsyncClient], Awaitable[httpx.Response]]) -> None:
    async def post(backend: Backend) -> None:
        parts = dashboard_parts(load(home, {}), backend, smtp_port=0, site_address="http://127.0.0.1:8080")
        app = create_app(parts, token=TOKEN)
        headers = {"authorization": f"Bearer {TOKEN}", "origin": HOST}
        async with httpx.AsyncClient(
            transport=httpx.ASGITransport(app), base_url=HOST, headers=headers
        ) as client:
            assert (await ask(client)).status_code in (200, 303)

    in_store(home, post)


def by_api(home: Path, intent: Intent) -> None:
    text = {"instruction": WORDS[intent]} if intent is Intent.EDIT else {}
    body = {"lane": str(AMELIA), "intent": intent.value, **text}
    by_http(home, lambda client: client.post("/api/jobs", json=body))


def by_page(home: Path, intent: Intent) -> None:
    by_http(home, lambda client: client.post(f"/lanes/{AMELIA}/ask", data={"intent": intent.value}))


WAYS: dict[str, Way] = {"mail": by_mail, "command line": by_command, "API": by_api}
FOR_WORDS: dict[str, Way] = {**WAYS, "page": by_page}  # its form for instructions sends a mail


@pytest.mark.parametrize("policy", [Arrival.INTERRUPT, Arrival.INTERRUPT_ALWAYS, Arrival.QUEUE])
@pytest.mark.parametrize("intent", Intent)
def test_the_same_wish_is_the_same_job_by_every_way(
    tmp_path: Path, intent: Intent, policy: Arrival, capsys: pytest.CaptureFixture[str]
) -> None:
    """`webordinary undo` once waited behind the very edit that a mailed undo stops, and asked no project."""
    found: dict[str, Seen] = {}
    ways = WAYS if intent is Intent.EDIT else FOR_WORDS
    for name, ask in ways.items():
        home = tmp_path / name.replace(" ", "-")
        in_store(home, lambda backend: begin(backend, policy))
        ask(home, intent)

        async def look(backend: Backend, name: str = name) -> None:
            found[name] = await seen(backend)

        in_store(home, look)
    capsys.readouterr()
    assert found == dict.fromkeys(ways, expected(intent, policy))
