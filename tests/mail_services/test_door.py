"""What the door minds besides signatures: who may be believed, how much and how slowly may be posted."""

import asyncio
import json
from dataclasses import replace
from urllib.parse import unquote_to_bytes

import httpx
import pytest

from tests.authentication.world import OWNER, letter
from tests.mail_services.conftest import Opening, Room, written
from tests.mail_services.services import (
    GIVEN_UP,
    NAMES,
    POST,
    SECRET,
    Handed,
    Posted,
    mailgun,
    mailgun_fields,
    multipart,
    postmark,
    resend_signed,
    sendgrid,
    sendgrid_signed,
    settings,
)
from webordinary.core.mail import MailState
from webordinary.intake.authenticate import Trust
from webordinary.mail.checks.resolvers import ZoneResolver
from webordinary.mail.services import endpoint as door_module
from webordinary.mail.services import form
from webordinary.mail.services.delivery import MAIL_BYTES, MIB
from webordinary.mail.smtp import spool as smtp_spool
from webordinary.system.http_server import ImpatientProtocol

SERVER = "192.175.48.10"  # of the internet, unlike the addresses that are kept for examples
ZONE = f"""
$TTL 300
victim.example.  TXT "v=spf1 ip4:{SERVER} -all"
"""
RECEIVED = {  # as a server of the service's would write it
    "mailgun": "mxa.mailgun.org",
    "postmark": "in.postmarkapp.com",
    "resend": "inbound-smtp.x.amazonaws.com",
    "cloudflare": "cloudflare-email.com",
}


def traced(server: str, peer: str = SERVER) -> bytes:
    """A mail that says which servers it came through."""
    head = f"Return-Path: <{OWNER}>\r\nReceived: from x.example (x.example [{peer}]) by {server}\r\n"
    return head.encode() + letter(OWNER, Message_ID="<9@victim.example>")


# --- addresses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
async def test_at_the_plain_address_the_service_is_recognised(room: Room, name: str) -> None:
    path = "/inbound/mime" if name == "mailgun" else "/inbound"
    assert (await room.post(replace(POST[name](Handed(written())), path=path))).status_code == 200
    assert len(await room.jobs()) == 1


async def test_a_service_that_is_not_set_up_has_no_door(open_room: Opening, resend_api: str) -> None:
    mail = replace(settings(resend_api), inbound_postmark_password="", inbound_resend_secret="")
    room = await open_room(mail=mail)
    for name in ("postmark", "resend"):
        assert (await room.post(POST[name](Handed(written())))).status_code == 404
    assert (
        await room.post(replace(POST["mailgun"](Handed(written())), path="/inbound/x"))
    ).status_code == 404
    assert (await room.post(POST["mailgun"](Handed(written())))).status_code == 200


async def test_only_posting_is_understood_and_a_connection_is_for_one_request(room: Room) -> None:
    answer = await room.client.get(f"{room.address}/inbound/mailgun/mime")
    assert (answer.status_code, answer.headers["connection"]) == (405, "close")


# --- who is believed ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", RECEIVED)
async def test_what_a_mail_says_of_its_way_proves_nothing(open_room: Opening, name: str) -> None:
    """No service promises that the topmost line is its own: whoever wrote the mail may have written it."""
    room = await open_room(dns=ZoneResolver(ZONE))
    assert (await room.post(POST[name](Handed(traced(RECEIVED[name]))))).status_code == 200
    (record,) = await room.mails()
    assert record.state is MailState.QUARANTINED
    assert f"{name} does not show" in record.reason


async def test_sendgrids_signed_client_address_counts(open_room: Opening) -> None:
    room = await open_room(dns=ZoneResolver(ZONE))
    unproven = Handed(letter(OWNER, Message_ID="<8@victim.example>"))
    proven = Handed(letter(OWNER, Message_ID="<9@victim.example>"))
    assert (await room.post(sendgrid(unproven, "192.175.48.66"))).status_code == 200
    assert (await room.post(sendgrid(proven, SERVER))).status_code == 200
    assert [record.state for record in await room.mails()] == [MailState.ACCEPTED, MailState.QUARANTINED]


@pytest.mark.parametrize("name", NAMES)
async def test_no_mail_of_a_service_is_from_this_machine(open_room: Opening, name: str) -> None:
    """A gateway may believe this machine for a try-out, and the proxy before the door runs on it."""
    room = await open_room(trust=Trust(loopback=True))
    raw = traced(RECEIVED.get(name, "mx.sendgrid.net"), "127.0.0.1")
    posted = sendgrid(Handed(raw), "127.0.0.1") if name == "sendgrid" else POST[name](Handed(raw))
    assert (await room.post(posted)).status_code == 200
    (record,) = await room.mails()
    assert record.state is MailState.QUARANTINED


@pytest.mark.parametrize("name", NAMES)
async def test_what_a_mail_says_of_its_own_checks_is_not_believed(open_room: Opening, name: str) -> None:
    """A mailbox may have a trusted server before it, and has no peer; a service is no mailbox."""
    room = await open_room(trust=Trust(upstream=("mx.upstream.example",)))
    said = "Authentication-Results: mx.upstream.example; dmarc=pass header.from=victim.example\r\n"
    assert (await room.post(POST[name](Handed(said.encode() + letter(OWNER))))).status_code == 200
    (record,) = await room.mails()
    assert record.state is MailState.QUARANTINED


# --- what may be posted ---------------------------------------------------------------------------


@pytest.mark.parametrize("fields", [99, 101])
async def test_a_form_has_only_so_many_fields(room: Room, fields: int) -> None:
    posted = mailgun(Handed(written()))
    more = b"".join(b"&x%d=1" % number for number in range(fields - len(mailgun_fields(Handed(b"")))))
    answer = await room.post(posted.with_body(posted.body + more))
    assert answer.status_code == (200 if fields < 100 else 406)


@pytest.mark.parametrize("twice", ["body-mime", "recipient", "token", "signature"])
async def test_a_field_that_is_posted_twice_could_be_read_in_two_ways(room: Room, twice: str) -> None:
    posted = mailgun(Handed(written()))
    assert (await room.post(posted.with_body(posted.body + f"&{twice}=x".encode()))).status_code == 406
    kind, body = multipart(
        **{name.replace("-", "_"): value for name, value in mailgun_fields(Handed(written())).items()}
    )
    again = f'--xYzZY\r\nContent-Disposition: form-data; name="{twice}"\r\n\r\nx\r\n'.encode()
    in_parts = Posted(posted.path, {"Content-Type": kind}, again + body)
    assert (await room.post(in_parts)).status_code == 406
    assert await room.mails() == []


async def test_a_broken_form_is_given_up(room: Room) -> None:
    kind = "multipart/form-data; boundary=xYzZY"
    for body in (
        b"",
        b"--xYzZY",
        b"nothing like it",
        b'--xYzZY\r\nContent-Disposition: form-data; name="email"\r\n\r\ncut off',
        b"--xYzZY\r\n" + b"A: b\r\n" * 100 + b"\r\n\r\n--xYzZY--",
        b"--xYzZY\r\nA: " + b"b" * 10_000 + b"\r\n\r\n\r\n--xYzZY--",
    ):
        signed = sendgrid_signed(Handed(b""), kind, body)
        assert (await room.post(signed)).status_code in {422, 503}, body
        unsigned = Posted("/inbound/mailgun/mime", {"Content-Type": kind}, body)
        assert (await room.post(unsigned)).status_code in {401, 406}, body
    assert await room.mails() == []


async def test_json_of_any_kind_is_answered(room: Room) -> None:
    deep = [b"[" * 100_000, b'{"RawEmail": ' * 50_000]
    for body in (*deep, b"[]", b"1", b"null", b"\xff\xfe", b'{"RawEmail": 1, "MessageID": []}'):
        assert (await room.post(postmark(Handed(written())).with_body(body))).status_code in {403, 503}
        assert (await room.post(resend_signed(Handed(b""), body))).status_code in {200, 422}
    assert await room.mails() == []


async def test_a_service_that_posts_no_raw_mail_is_told_what_to_switch_on(room: Room) -> None:
    """The operator sees it in the service's own log, and no mail is given up meanwhile."""
    parsed = mailgun(Handed(written()))
    body = parsed.body.replace(b"body-mime=", b"body-plain=")
    assert "/mime" in (await room.post(parsed.with_body(body))).text
    unfull = json.loads(postmark(Handed(written())).body)
    del unfull["RawEmail"]
    answer = await room.post(postmark(Handed(written())).with_body(json.dumps(unfull).encode()))
    assert (answer.status_code, "Include raw email" in answer.text) == (503, True)
    kind, body = multipart(text=b"hello", envelope=b"{}")
    answer = await room.post(sendgrid_signed(Handed(b""), kind, body))
    assert (answer.status_code, "raw, full MIME" in answer.text) == (503, True)


async def test_other_events_of_resend_are_passed_over(room: Room) -> None:
    answer = await room.post(resend_signed(Handed(b""), b'{"type": "email.delivered", "data": {}}'))
    assert answer.status_code == 200
    assert await room.mails() == []


async def test_a_forwarded_mail_is_known_by_whom_it_was_written_to(room: Room) -> None:
    """Postmark's own inbound address is not ours; the mail's To is."""
    posted = postmark(Handed(written()))
    body = json.loads(posted.body) | {
        "OriginalRecipient": "451d9b70cf9364d23ff6f9d51d870251569e@inbound.postmarkapp.com"
    }
    assert (await room.post(posted.with_body(json.dumps(body).encode()))).status_code == 200
    assert len(await room.jobs()) == 1


async def test_a_strangers_mail_is_not_decoded(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Decoding takes seconds for what is only percent signs: the signature is looked at first."""
    decoded: list[int] = []

    def counted(quoted: bytes) -> bytes:
        decoded.append(len(quoted))
        return unquote_to_bytes(quoted)

    monkeypatch.setattr(form, "unquote_to_bytes", counted)
    posted = mailgun(Handed(written(), forged=True))
    assert (await room.post(posted.with_body(posted.body + b"%" * MIB))).status_code == 401
    long = await room.post(posted.with_body(posted.body.replace(b"&token=", b"&token=" + b"%" * MIB)))
    assert (long.status_code, "too long" in long.text) == (406, True)
    assert sum(decoded) < 10_000


async def test_odd_bytes_of_a_mail_arrive_as_they_were(room: Room) -> None:
    odd = written() + bytes(range(256)) * 300 + b"%41+&="
    assert (await room.post(mailgun(Handed(odd)))).status_code == 200
    (record,) = await room.mails()
    assert await room.backend.blobs.get(record.blob) == odd


# --- how much, and how slowly ---------------------------------------------------------------------


async def test_all_requests_together_have_so_much_room(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Strangers must not fill the disk; whom there is no room for comes again."""
    monkeypatch.setattr(smtp_spool, "SPOOL_BYTES", 2 * MIB)
    large = replace(POST["mailgun"](Handed(written(), forged=True)))
    large = large.with_body(large.body + b" " * (MIB + MIB // 2))
    answers = await asyncio.gather(*(room.post(large) for _ in range(6)))
    assert {answer.status_code for answer in answers} == {401, 503}
    assert (await room.post(POST["mailgun"](Handed(written())))).status_code == 200
    assert room.door._spool_room.taken_bytes == 0


async def slowly(room: Room, head: bytes) -> bytes:
    """Begin a request, and wait for what comes back."""
    host, _, port = room.address.removeprefix("http://").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(head)
    answer = await reader.read()
    writer.close()
    return answer


async def test_a_client_that_stops_in_mid_sentence_is_not_waited_for(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door_module, "BODY_SECONDS", 0.05)
    head = b"POST /inbound/mailgun/mime HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\nrecip"
    assert (await slowly(room, head)).startswith(b"HTTP/1.1 503")
    assert room.door._spool_room.taken_bytes == 0


@pytest.mark.parametrize("head", [b"", b"POST /inbound HTTP/1.1\r\nHost: "])
async def test_a_client_that_says_nothing_is_hung_up_on(
    room: Room, monkeypatch: pytest.MonkeyPatch, head: bytes
) -> None:
    monkeypatch.setattr(ImpatientProtocol, "HEAD_SECONDS", 0.05)
    assert await slowly(room, head) == b""


async def test_a_length_of_any_length_is_too_large(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(door_module, "BODY_SECONDS", 0.05)
    for digits in (18, 5000):
        length = b"9" * digits
        head = b"POST /inbound/mailgun/mime HTTP/1.1\r\nHost: x\r\nContent-Length: %s\r\n\r\n" % length
        assert (await slowly(room, head))[:12] in {b"HTTP/1.1 406", b"HTTP/1.1 400"}


async def test_a_password_is_asked_for_before_a_large_body_is_read(room: Room) -> None:
    """Else anybody could make us hold what only Postmark may post."""
    posted = postmark(Handed(written(), forged=True))
    answer = await room.post(posted.with_body(b" " * MAIL_BYTES))
    assert answer.status_code == 401


async def test_mails_in_hand_are_finished_before_the_door_closes(room: Room) -> None:
    posting = asyncio.create_task(room.post(POST["cloudflare"](Handed(written()))))
    while not room.door._reading_room.held_bytes and not posting.done():
        await asyncio.sleep(0)
    await room.door.stop()
    assert (await posting).status_code == 200
    with pytest.raises(httpx.ConnectError):
        await room.post(POST["cloudflare"](Handed(written())))


async def test_no_secret_is_told_by_a_representation(room: Room, resend_api: str) -> None:
    """Settings and services end up in logs and tracebacks."""
    shown = repr(settings(resend_api)) + repr(room.door._services)
    assert SECRET not in shown
    assert "re_key" not in shown
    assert GIVEN_UP  # every service has a word for giving up
