"""Mail that lies in the bucket and that nobody took in is found, and taken in after all."""

from __future__ import annotations

import asyncio
import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from tests.cloud.conftest import Account
from tests.cloud.mails import SCOTT, event, mail
from tests.cloud.processes import Container
from webordinary.core.lane import Lane
from webordinary.core.mail import LetterKind, MailId, MailState
from webordinary.core.site import Member, Project
from webordinary.operations.cloud_unseen import HEAD_BYTES, UnseenSearch, events_in, find_unseen, take_key
from webordinary.ports.backend import Backend
from webordinary.wiring.cloud_mail import take_in

AMELIA = Lane("amelia", "scott")


@pytest.fixture(autouse=True)
async def member(
    account: Account, backend: Backend, environment: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    await backend.directory.add_project(Project("amelia", repository="https://git.example/amelia.git"))
    await backend.directory.add_member(Member(AMELIA, SCOTT))


@pytest.fixture
def environment(environment: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """A mail bucket of each test's own, and mails under a beginning."""
    own = {
        "WEBORDINARY_CLOUD_MAIL_BUCKET": f"mail-{uuid4().hex[:12]}",
        "WEBORDINARY_CLOUD_MAIL_PREFIX": "in/",
    }
    for name, value in own.items():
        monkeypatch.setenv(name, value)
    return environment | own


async def put(account: Account, raw: bytes, key: str = "") -> str:
    key = key or uuid4().hex
    bucket = account.settings.cloud.mail_bucket
    await account.call("s3", "put_object", Bucket=bucket, Key=f"in/{key}", Body=raw)
    return key


async def looked(account: Account, backend: Backend, *, since: float = 0.0, limit: int = 100) -> UnseenSearch:
    return await find_unseen(
        account.settings, backend, since=since, limit=limit, progress=lambda _done, _of: None
    )


async def test_an_empty_object_hides_no_mail(account: Account, backend: Backend) -> None:
    """A part of nothing can't be asked for; the tool that finds lost mail must not fail on it."""
    await put(account, b"", "empty")
    await put(account, mail("Paint it blue").as_bytes(), "lost")
    found = await looked(account, backend)
    assert {one.key for one in found.unseen} >= {"lost"}


async def test_what_nobody_took_in_is_found_and_nothing_else(account: Account, backend: Backend) -> None:
    """Of every kind of mail: the id is made up by the same rules as when it is taken in."""
    kinds = {
        "plain": mail("Paint it blue").as_bytes(),
        "long": mail("x" * HEAD_BYTES, Subject_Line="long").as_bytes(),
        "nameless": mail("No name").as_bytes().replace(b"Message-ID", b"X-Was", 1),
        "nameless-long": mail("y" * HEAD_BYTES).as_bytes().replace(b"Message-ID", b"X-Was", 1),
        "long-header": b"X-Seal: " + b"z" * HEAD_BYTES + b"\n" + mail("Sealed").as_bytes(),
        "damaged": b"\x00no mail at all",
        "automatic": mail("Away", Auto_Submitted="auto-replied").as_bytes(),
        "stranger": mail("Let me in", sender="mary@example.com").as_bytes(),
    }
    for name, raw in kinds.items():
        await put(account, raw, f"{name}.seen")
        await take_in(event(f"{name}.seen"), account.settings, backend)
        await put(account, raw.replace(b"@example.com>", b"@other.example>"), f"{name}.unseen")
    await put(account, b"a note of the service", "AMAZON_SES_SETUP_NOTIFICATION")
    found = await looked(account, backend)
    unseen = set(kinds) - {"damaged"}  # which is the very same bytes as before, and so the same mail
    assert {one.key for one in found.unseen} == {f"{name}.unseen" for name in unseen}
    assert (found.looked_at, found.is_all) == (2 * len(kinds), True)
    by_key = {one.key: one for one in found.unseen}
    assert (by_key["plain.unseen"].from_address, by_key["plain.unseen"].subject) == (SCOTT, "My site")


async def test_bounds(account: Account, backend: Backend) -> None:
    for number in range(20):
        await put(account, mail(f"number {number}").as_bytes())
    newest = (await looked(account, backend, limit=5)).unseen
    assert len(newest) == 5
    assert not (await looked(account, backend, limit=5)).is_all
    assert (await looked(account, backend, limit=20)).is_all
    times = [one.arrived_at for one in (await looked(account, backend)).unseen]
    assert times == sorted(times, reverse=True)
    assert (await looked(account, backend, since=times[0] + 1)).looked_at == 0


async def test_a_mail_whose_job_is_not_known_is_found(account: Account, backend: Backend) -> None:
    """The function died between keeping the mail and submitting its job, and was never called again."""
    key = await put(account, mail("Half of it").as_bytes())
    (record,) = await take_in(event(key), account.settings, backend)
    await backend.mailbox.update(replace(record, job=None))
    (found,) = (await looked(account, backend)).unseen
    assert "its job is not known" in found.why
    (again,) = await take_in(event(key), account.settings, backend)
    assert again.job == record.job
    assert (await looked(account, backend)).unseen == ()


@pytest.mark.parametrize(
    "wrapped",
    [
        lambda told: told,
        lambda told: {
            "version": "1.0",
            "requestContext": {"condition": "RetriesExhausted"},
            "requestPayload": told,
        },
        lambda told: {"Messages": [{"Body": json.dumps({"requestPayload": told})}]},
    ],
)
async def test_an_event_is_taken_in_as_it_was_kept(
    account: Account,
    backend: Backend,
    wrapped: Any,  # noqa: ANN401 - a function of an event
) -> None:
    told = event(await put(account, mail().as_bytes()))
    (found,) = events_in(json.dumps(wrapped(told)))
    (record,) = await take_in(found, account.settings, backend)
    assert record.state is MailState.ACCEPTED


async def test_a_mail_without_its_event_is_believed_only_if_somebody_vouches(
    account: Account, backend: Backend
) -> None:
    """The service's verdicts are lost with the event. So the member is asked, at the address on file."""
    asked, vouched = await put(account, mail().as_bytes()), await put(account, mail().as_bytes())
    record = await take_key(account.settings, backend, asked, trust_from=False)
    assert (record.state, record.job) == (MailState.QUARANTINED, None)
    letters = [letter.kind for letter, _ in await backend.outbox.letters(limit=9, about=record.id)]
    assert letters == [LetterKind.CONFIRM]
    record = await take_key(account.settings, backend, vouched, trust_from=True)
    assert record.state is MailState.ACCEPTED
    stranger = await put(account, mail(sender="mary@example.com").as_bytes())
    record = await take_key(account.settings, backend, stranger, trust_from=True)
    assert record.state is MailState.REFUSED


async def test_the_commands(
    account: Account, backend: Backend, environment: dict[str, str], tmp_path: Path
) -> None:
    operator = Container(tmp_path / "operator", environment)
    assert "none of them unseen" in await asyncio.to_thread(operator.said, "cloud", "unseen")
    keys = [await put(account, mail(f"mail {number}").as_bytes()) for number in range(3)]
    ran = await asyncio.to_thread(operator.run, "cloud", "unseen", "--hours", "1")
    assert ran.returncode == 1
    assert all(key in ran.stdout for key in keys)
    assert "webordinary cloud take" in ran.stdout
    told = tmp_path / "event.json"
    told.write_text(json.dumps(event(keys[0])))
    assert "accepted as job" in await asyncio.to_thread(operator.said, "cloud", "take", str(told))
    taken = await asyncio.to_thread(operator.json, "cloud", "take", "--key", keys[1], "--trust-from")
    assert [one["state"] for one in taken] == ["accepted"]
    asked = await asyncio.to_thread(operator.run, "cloud", "take", "--key", keys[2])
    assert (asked.returncode, "quarantined" in asked.stdout) == (1, True)
    ran = await asyncio.to_thread(operator.run, "cloud", "unseen", "--json")
    assert (ran.returncode, json.loads(ran.stdout)["unseen"]) == (0, [])
    for words in ((), ("--key", "../x"), (str(tmp_path / "none.json"),), (str(told), "--trust-from")):
        operator.complained("cloud", "take", *words, code=2)
    operator.complained("cloud", "take", "--key", "there-is-none", code=4)
    assert await backend.mailbox.mail(MailId(taken[0]["id"])) is not None


async def test_a_mail_of_a_conversation_is_taken_in_as_one(account: Account, backend: Backend) -> None:
    """The address that it answers to names the conversation; only the mail's own header still tells it."""
    first = await take_in(event(await put(account, mail("One").as_bytes())), account.settings, backend)
    reply = mail("Three", In_Reply_To=first[0].message_id, References=first[0].message_id)
    key = await put(account, reply.as_bytes())
    record = await take_key(account.settings, backend, key, trust_from=True)
    assert record.session == first[0].session
