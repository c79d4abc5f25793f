"""Our own letters, signed: whoever looks up our key believes them, and sees what was changed on the way."""

from functools import cache
from pathlib import Path

import dkim  # type: ignore[import-untyped]
import pytest

from tests.authentication.keys import pem, rsa_pem
from tests.conformance.world import ManualClock
from tests.reply.letters import MAIL, OURS
from tests.reply.post import Post
from tests.reply.smtp_server import smtp_server
from webordinary.core.errors import BadInput
from webordinary.core.mail import Envelope, Letter, LetterKind
from webordinary.mail.checks.checks import OriginChecks
from webordinary.mail.checks.resolvers import ZoneResolver
from webordinary.mail.dkim_signing import DkimSigner, SigningMailer, open_signer
from webordinary.mail.smtp.relay import Encryption, Relay, SmtpRelay
from webordinary.reply.compose import Composed, compose
from webordinary.reply.context import Case

DOMAIN = "webordinary.example"
ED25519 = pem("PRIVATE KEY", bytes.fromhex("302e020100300506032b657004220420") + bytes(range(32)))
KEYS = {"rsa": lambda: rsa_pem(2048, 1), "ed25519": lambda: ED25519}


@pytest.fixture(params=KEYS)
def signer(request: pytest.FixtureRequest, tmp_path: Path) -> DkimSigner:
    file = tmp_path / "dkim.pem"
    file.write_bytes(KEYS[request.param]())
    return open_signer("s1", DOMAIN, file)


@cache
def letter() -> bytes:
    written = compose(Letter("m1", LetterKind.HELP, MAIL.id), Case(MAIL), OURS, 1_800_000_000.0)
    assert isinstance(written, Composed)
    return written.content


def verifies(message: bytes, signer: DkimSigner) -> bool:
    """Ask the zone that the doctor tells the operator to publish."""
    zone = ZoneResolver(f"$TTL 300\n{signer.record_name}. TXT {signer.record}\n")

    def txt(name: bytes, timeout: int = 5) -> bytes | None:
        del timeout
        found = zone.txt(name.decode().rstrip("."))
        return found[0] if found else None

    return bool(dkim.verify(message, dnsfunc=txt))


def test_a_signed_letter_is_believed(signer: DkimSigner) -> None:
    assert verifies(signer.signed(letter()), signer)
    assert not verifies(letter(), signer)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"Subject: ", b"Subject: Pay now, "),
        (b"\r\nFrom: ", b"\r\nFrom: Eve <eve@evil.example>\r\nFrom: "),
        (b"\r\nTo: ", b"\r\nTo: you@elsewhere.example, "),
        (b"multipart/alternative", b"multipart/mixed"),
        (b"\r\nAuto-Submitted: auto-replied", b""),
        (b"\r\nMIME-Version: 1.0", b"\r\nMIME-Version: 1.0\r\nContent-Type: text/html"),
        (b"undo", b"pay "),
    ],
)
def test_a_letter_that_was_changed_on_the_way_is_not(signer: DkimSigner, old: bytes, new: bytes) -> None:
    signed = signer.signed(letter())
    head, mark, rest = signed.partition(b"\r\nFrom: ")  # not in the signature's own field
    changed = head + (mark + rest).replace(old, new, 1)
    assert changed != signed
    assert not verifies(changed, signer)


def test_what_servers_on_the_way_do_to_every_mail_leaves_the_signature_valid(signer: DkimSigner) -> None:
    signed = signer.signed(letter()).replace(b"\r\nSubject: ", b"\r\nSUBJECT:   ")
    assert verifies(b"Received: from a by b\r\nX-Spam-Score: 0\r\n" + signed + b"\r\n\r\n", signer)


async def test_our_own_checks_find_the_signature_aligned(signer: DkimSigner) -> None:
    zone = ZoneResolver(f"$TTL 300\n{signer.record_name}. TXT {signer.record}\n")
    checks = OriginChecks(zone, ManualClock())
    found = await checks.check(signer.signed(letter()), Envelope(peer="192.0.2.1"), OURS.address)
    checks.close()
    assert [(one.domain, one.problem) for one in found.signatures] == [(DOMAIN, "")]


async def test_a_letter_is_signed_as_it_leaves_by_the_relay(post: Post, signer: DkimSigner) -> None:
    await post.owe_help(await post.mail_comes())
    async with smtp_server() as inbox:
        relay = SmtpRelay(Relay("127.0.0.1", inbox.port, OURS.address, Encryption.NONE))
        async with post.sending(post.office(SigningMailer(relay, signer))):
            await post.until("sent")
    ((_, message),) = inbox.taken
    assert verifies(message, signer)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"hello",
        b"-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN PRIVATE KEY-----\n%%%%\n-----END PRIVATE KEY-----\n",
        b"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIB\n-----END ENCRYPTED PRIVATE KEY-----\n",
        b"-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----\n",
        ED25519[:60] + b"\n-----END PRIVATE KEY-----\n",
        bytes(range(256)) * 1000,
    ],
)
def test_a_bad_key_is_one_sentence(tmp_path: Path, content: bytes) -> None:
    file = tmp_path / "dkim.pem"
    file.write_bytes(content)
    with pytest.raises(BadInput, match="is no private key") as refused:
        open_signer("s1", DOMAIN, file)
    assert "\n" not in str(refused.value)


def test_a_key_that_nobody_would_accept_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "dkim.pem"
    file.write_bytes(rsa_pem(768, 1))
    with pytest.raises(BadInput):
        open_signer("s1", DOMAIN, file)


def test_a_key_file_with_windows_line_ends_is_read(tmp_path: Path) -> None:
    file = tmp_path / "dkim.pem"
    file.write_bytes(rsa_pem(1024, 1).replace(b"\n", b"\r\n"))
    assert verifies(open_signer("s1", DOMAIN, file).signed(letter()), open_signer("s1", DOMAIN, file))


def test_a_missing_key_and_a_name_that_dns_does_not_know_are_said(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="can't be read"):
        open_signer("s1", DOMAIN, tmp_path / "none.pem")
    with pytest.raises(BadInput, match="dkim_selector"):
        open_signer("s 1", DOMAIN, tmp_path / "none.pem")


def test_the_record_is_as_a_zone_file_wants_it(signer: DkimSigner) -> None:
    """A string of DNS has at most 255 characters; an RSA key is longer."""
    assert signer.record_name == f"s1._domainkey.{DOMAIN}"
    strings = signer.record.strip('"').split('" "')
    assert all(len(one) <= 255 for one in strings)
    assert "".join(strings).startswith(f"v=DKIM1; k={signer.algorithm.partition('-')[0]}; p=")
