"""Mail over a real SMTP conversation, through real processes, to a reply in the outbox."""

from __future__ import annotations

import email
import json
import smtplib
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from email.message import EmailMessage
from email.policy import default
from pathlib import Path

import pytest
import trustme

from tests.integration.cli_support import FAST_LIMITS, Home
from tests.waiting import wait_until
from webordinary.core.job import JobState
from webordinary.core.mail import MailState

__all__ = ["mailroom"]
ADDRESS = "edit@localhost"


class Mailroom(Home):
    """A home with a gateway in it."""

    port = 0

    @contextmanager
    def gateway(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        with self.started("gateway", "--smtp-port", "0", "--json", *words) as process:
            assert process.stderr is not None
            hello = process.stderr.readline()
            assert hello.startswith("{"), hello + process.stderr.read()
            self.port = int(str(json.loads(hello)["message"]).rpartition(":")[2])
            yield process

    def send(self, message: EmailMessage, *recipients: str) -> dict[str, tuple[int, bytes]]:
        with smtplib.SMTP("127.0.0.1", self.port) as server:
            return server.send_message(message, "scott@example.com", recipients or (ADDRESS,))

    def replies(self) -> list[EmailMessage]:
        paths = sorted((self.folder / "outbox").glob("*.eml"), key=lambda path: path.stat().st_mtime_ns)
        return [email.message_from_bytes(path.read_bytes(), policy=default) for path in paths]

    def reply(self, kind: str) -> EmailMessage:
        """Wait for the reply of a kind."""
        pattern = f"*.{kind}-*.eml"
        wait_until(lambda: bool(list((self.folder / "outbox").glob(pattern))))
        path = next((self.folder / "outbox").glob(pattern))
        return email.message_from_bytes(path.read_bytes(), policy=default)


@pytest.fixture
def mailroom(tmp_path: Path) -> Mailroom:
    room = Mailroom(tmp_path / "home", FAST_LIMITS)
    room.said("onboard", "amelia", "--user", "scott", "--sender", "scott@example.com")
    return room


def written(text: str, number: int = 1, subject: str = "Spring") -> EmailMessage:
    message = EmailMessage()
    message["From"], message["To"], message["Subject"] = "Scott <scott@example.com>", ADDRESS, subject
    message["Message-ID"] = f"<{number}@example.com>"
    message.set_content(text)
    return message


def test_a_mail_becomes_a_job_and_is_answered_in_its_thread(mailroom: Mailroom) -> None:
    with mailroom.gateway("--trust-loopback"), mailroom.worker():
        assert mailroom.send(written("Change the title to Spring Sale")) == {}
        done = mailroom.reply("done")
        assert done["In-Reply-To"] == "<1@example.com>"
        assert done["Subject"] == "Re: Spring"
        assert done["To"] == "scott@example.com"
        assert done["Auto-Submitted"] == "auto-replied"
        (job,) = mailroom.jobs(JobState.DONE)
        assert job.instruction == "Change the title to Spring Sale"

        answer = written("And the colour, please, to blue", 2, "Re: Spring")
        answer["In-Reply-To"] = done["Message-ID"]
        del answer["To"]
        answer["To"] = done["Reply-To"]
        mailroom.send(answer, done["Reply-To"].addresses[0].addr_spec)
        wait_until(lambda: len(mailroom.jobs(JobState.DONE)) == 2)
        records = mailroom.ask(lambda backend: backend.mailbox.mails(limit=5))
        assert len({record.session for record in records}) == 1


def test_without_proof_a_mail_is_kept_and_carried_out_for_nobody(mailroom: Mailroom) -> None:
    """By default not even this machine is believed."""
    (mailroom.folder / "zone").write_text(
        "@ 60 IN SOA ns.invalid. root.invalid. 1 2 3 4 5\n@ 60 IN NS ns.invalid.\n"
    )
    (mailroom.folder / "webordinary.toml").write_text(
        f'{FAST_LIMITS}\n[mail]\nzone_file = "{mailroom.folder / "zone"}"\n'
    )
    with mailroom.gateway():
        mailroom.send(written("Change the title"))
        (record,) = mailroom.ask(lambda backend: backend.mailbox.mails(limit=5))
        assert record.state is MailState.QUARANTINED
        assert mailroom.jobs() == []
    (listed,) = mailroom.json("mails", "--state", "quarantined")
    assert (listed["id"], listed["reason"]) == (record.id, record.reason)
    assert "Change the title" in mailroom.said("mails", record.id)
    assert mailroom.json("mails", "--state", "accepted") == []
    assert "there is no mail" in mailroom.complained("mails", "nothing", code=4)


@pytest.fixture(scope="session")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    folder = tmp_path_factory.mktemp("tls")
    authority = trustme.CA()
    issued = authority.issue_cert("localhost")
    authority.cert_pem.write_to_path(str(folder / "ca.pem"))
    issued.private_key_pem.write_to_path(str(folder / "key.pem"))
    for blob in issued.cert_chain_pems:
        blob.write_to_path(str(folder / "cert.pem"), append=True)
    return folder / "ca.pem", folder / "cert.pem", folder / "key.pem"


def test_with_a_certificate_the_conversation_can_be_encrypted(
    mailroom: Mailroom, certificate: tuple[Path, Path, Path]
) -> None:
    ca, cert, key = certificate
    settings = f'{FAST_LIMITS}\n[mail]\ntls_certificate = "{cert}"\ntls_key = "{key}"\n'
    (mailroom.folder / "webordinary.toml").write_text(settings)
    with mailroom.gateway("--trust-loopback"):
        with smtplib.SMTP("localhost", mailroom.port) as server:
            server.starttls(context=ssl.create_default_context(cafile=str(ca)))
            server.send_message(written("Change the title"), "scott@example.com", [ADDRESS])
        assert len(mailroom.jobs()) == 1


def test_a_mail_server_on_the_same_machine_may_speak_lmtp(mailroom: Mailroom) -> None:
    (mailroom.folder / "webordinary.toml").write_text(f"{FAST_LIMITS}\n[mail]\nlmtp = true\n")
    with mailroom.gateway("--trust-loopback"):
        with smtplib.LMTP("127.0.0.1", mailroom.port) as server:
            server.send_message(written("Change the title"), "scott@example.com", [ADDRESS])
        assert len(mailroom.jobs()) == 1


def test_a_certificate_that_cannot_be_used_is_one_clear_sentence(mailroom: Mailroom) -> None:
    (mailroom.folder / "webordinary.toml").write_text('[mail]\ntls_certificate = "/no"\ntls_key = "/where"\n')
    assert "can't be used" in mailroom.complained("gateway", code=2)


def test_unknown_mailboxes_are_refused_at_once_and_ours_announces_its_size(mailroom: Mailroom) -> None:
    with mailroom.gateway("--trust-loopback"), smtplib.SMTP("127.0.0.1", mailroom.port) as server:
        server.ehlo()
        assert int(server.esmtp_features["size"]) > 1_000_000
        server.mail("scott@example.com")
        assert server.rcpt("nobody@localhost")[0] == 550
        assert server.rcpt("edit@elsewhere.example")[0] == 550
        assert server.rcpt("edit+anything@localhost")[0] == 250
        server.rset()
        assert server.mail("scott@example.com", [f"SIZE={10**9}"])[0] == 552


def test_a_client_that_hangs_up_in_the_middle_leaves_nothing_behind(mailroom: Mailroom) -> None:
    with mailroom.gateway("--trust-loopback"), mailroom.worker():
        with socket.create_connection(("127.0.0.1", mailroom.port)) as line:
            line.recv(1000)
            for words in (
                b"EHLO me\r\n",
                b"MAIL FROM:<scott@example.com>\r\n",
                b"RCPT TO:<edit@localhost>\r\n",
            ):
                line.sendall(words)
                line.recv(1000)
            line.sendall(b"DATA\r\n")
            line.recv(1000)
            line.sendall(b"From: scott@example.com\r\n\r\nChange the ti")
        mailroom.send(written("Change the title", 2))
        mailroom.reply("done")
        assert len(mailroom.jobs()) == 1


def test_ingest_takes_a_file_and_a_maildir_through_the_same_door(mailroom: Mailroom, tmp_path: Path) -> None:
    raw = written("Change the title").as_bytes()
    (tmp_path / "one.eml").write_bytes(raw)
    (record,) = mailroom.json("ingest", str(tmp_path / "one.eml"), "--trust-from")
    assert record["state"] == "accepted"
    for folder in ("cur", "new", "tmp"):
        (tmp_path / "maildir" / folder).mkdir(parents=True)
    (tmp_path / "maildir" / "new" / "1.host").write_bytes(raw)
    (tmp_path / "maildir" / "new" / "2.host").write_bytes(written("And the colour", 2).as_bytes())
    records = mailroom.json("ingest", str(tmp_path / "maildir"), "--trust-from")
    assert [one["job"] == record["job"] for one in records] == [True, False]
    assert len(mailroom.jobs()) == 2


def test_ingest_says_what_is_wrong_with_its_source(mailroom: Mailroom, tmp_path: Path) -> None:
    assert "can't be read" in mailroom.complained("ingest", str(tmp_path / "nowhere.eml"), code=2)
    assert "no Maildir" in mailroom.complained("ingest", str(tmp_path), code=2)


def test_a_port_in_use_is_one_clear_sentence(mailroom: Mailroom) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        assert "can't listen for mail" in mailroom.run("gateway", "--smtp-port", port).stderr
