"""The whole system as real processes on a home of its own: mail in over SMTP, sites out over HTTP."""

from __future__ import annotations

import contextlib
import email
import json
import os
import signal
import smtplib
import subprocess
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.policy import default
from pathlib import Path
from uuid import uuid4

import httpx

from tests.integration.cli_support import Home
from tests.processes import alive
from tests.waiting import HANG_SECONDS, wait_until

ADDRESS = "edit@localhost"
SCOTT, JOHN = "scott@example.com", "john@example.com"
FIRST_WORDS = frozenset({"accepted"})  # letters that something else follows

SETTINGS = """
[limits]
lease_seconds = 20
beat_seconds = 2
sweep_seconds = 0.5
retry_first_seconds = 0.1
retry_most_seconds = 0.1
deliveries_max = 3
drain_grace_seconds = 1
"""

Picture = tuple[str, bytes]


@dataclass(frozen=True)
class Sent:
    """A mail that was taken: its Message-ID, and when the server said so."""

    message_id: str
    at: float  # monotonic


@dataclass(frozen=True)
class Reply:
    """A letter of ours, as it lies in the outbox."""

    kind: str
    message: EmailMessage
    text: str

    @property
    def message_id(self) -> str:
        return str(self.message["Message-ID"])


class System(Home):
    """A home folder, and the processes that serve it."""

    smtp_port = http_port = site_port = 0

    def __init__(self, folder: Path, settings: str = SETTINGS, **environment: str) -> None:
        """Nothing runs yet. No key of whoever runs the tests is used."""
        super().__init__(folder, settings)
        self.environment.pop("ANTHROPIC_API_KEY", None)
        self.environment |= environment
        self.logs = folder.parent / "logs"
        self.logs.mkdir(exist_ok=True)

    # --- processes ------------------------------------------------------------------------------------

    @contextlib.contextmanager
    def started(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """A process that does not outlive its test; its log is a file, which never fills up like a pipe."""
        log = self.logs / f"{words[0]}-{uuid4().hex[:6]}.log"
        with log.open("w") as file:
            process = subprocess.Popen(
                self.command(*words),
                env=self.environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=file,
                text=True,
                start_new_session=True,
            )
        try:
            yield process
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.communicate()

    @contextlib.contextmanager
    def up(self, *words: str) -> Iterator[dict[str, int]]:
        """All of it, by one command; gives the processes by their names."""
        ports = ("--smtp-port", "0", "--http-port", "0", "--site-port", "0")
        with self.started("up", "--json", *ports, *words) as process:
            assert process.stdout is not None
            said = json.loads(process.stdout.readline())
            self.smtp_port, self.http_port = said["smtp_port"], said["http_port"]
            self.site_port = said["site_port"]
            pids = dict(said["pids"])
            try:
                yield pids
            finally:
                process.kill()
                wait_until(lambda: not any(map(alive, pids.values())))

    @contextlib.contextmanager
    def gateway(self) -> Iterator[subprocess.Popen[str]]:
        """The way in and out for mail."""
        with self.started("gateway", "--smtp-port", "0", "--json", "--trust-loopback") as process:
            self.smtp_port = self._told_port("gateway", "listening for mail")
            yield process

    @contextlib.contextmanager
    def web(self) -> Iterator[subprocess.Popen[str]]:
        """The dashboard and the sites."""
        with self.started("web", "--http-port", "0", "--site-port", "0", "--json") as process:
            self.site_port = self._told_port("web", "sites at")
            self.environment["WEBORDINARY_WORK_SITE_ADDRESS"] = f"http://127.0.0.1:{self.site_port}"
            yield process

    def _told_port(self, name: str, words: str) -> int:
        def told() -> list[str]:
            lines = [json.loads(line)["message"] for line in self.log(name).splitlines()]
            return [line for line in lines if words in line]

        wait_until(lambda: bool(told()))
        return int(told()[0].rstrip("/").rpartition(":")[2])

    def log(self, name: str) -> str:
        """What all processes of a kind have logged: whole lines."""
        texts = [path.read_text() for path in sorted(self.logs.glob(f"{name}-*.log"))]
        return "".join(text[: text.rfind("\n") + 1] for text in texts)

    # --- mail -----------------------------------------------------------------------------------------

    def send(
        self,
        text: str,
        *,
        sender: str = SCOTT,
        subject: str = "My site",
        answers: str = "",
        pictures: Sequence[Picture] = (),
    ) -> Sent:
        """Hand a mail over to the gateway; it is kept when this returns."""
        mail = EmailMessage(policy=default)
        mail["From"], mail["To"], mail["Subject"] = sender, ADDRESS, subject
        mail["Message-ID"] = f"<{uuid4().hex}@example.com>"
        if answers:
            mail["In-Reply-To"] = mail["References"] = answers
        mail.set_content(text)
        for name, content in pictures:
            mail.add_attachment(content, maintype="image", subtype="jpeg", filename=name)
        with smtplib.SMTP("127.0.0.1", self.smtp_port, timeout=HANG_SECONDS) as line:
            line.send_message(mail)
            return Sent(mail["Message-ID"], time.monotonic())

    def replies(self, to: Sent) -> list[Reply]:
        """All that was answered to a mail, as far as it says something final."""
        found = []
        for path in (self.folder / "outbox").glob("*.eml"):
            message = email.message_from_bytes(path.read_bytes(), policy=default)
            kind = path.name.split(".")[1].rpartition("-")[0]
            if message["In-Reply-To"] == to.message_id and kind not in FIRST_WORDS:
                body = message.get_body(("plain",))
                assert body is not None
                found.append(Reply(kind, message, str(body.get_content()).replace("\r\n", "\n")))
        return found

    def reply(self, to: Sent) -> Reply:
        """Wait for the answer to a mail: there is one and no other."""
        wait_until(lambda: bool(self.replies(to)))
        (reply,) = self.replies(to)
        return reply

    def ask_by_mail(self, text: str, *, answers: str = "", sender: str = SCOTT) -> Reply:
        """Write, and wait for the answer."""
        return self.reply(self.send(text, answers=answers, sender=sender))

    # --- sites ----------------------------------------------------------------------------------------

    def page(self, path: str) -> httpx.Response:
        """Get a file of a site as a visitor does."""
        with self._visitor() as visitor:
            return visitor.get(path)

    def site(self, place: str, files: Sequence[str]) -> dict[str, bytes]:
        """Get files of a site: `amelia` is the preview, `live/amelia` what everybody sees."""
        with self._visitor() as visitor:
            answers = {name: visitor.get(f"{place}/{name}") for name in files}
        assert {answer.status_code for answer in answers.values()} == {200}, answers
        return {name: answer.content for name, answer in answers.items()}

    def _visitor(self) -> httpx.Client:
        return httpx.Client(base_url=f"http://127.0.0.1:{self.site_port}/", trust_env=False)

    def published(self, project: str) -> dict[str, bytes]:
        """Every file that is published or says what is, whatever its place; no locks, no copies under way."""
        root = self.folder / "sites" / project
        paths = [path for path in root.rglob("*") if path.is_file() and "lock" not in path.name]
        found = {str(path.relative_to(root)): path for path in paths}
        return {name: path.read_bytes() for name, path in found.items() if not name.startswith("unfinished/")}


def git(*words: str, folder: Path) -> str:
    """Run git with nobody's settings."""
    identity = ("-c", "user.name=Test", "-c", "user.email=test@example.com", "-c", "init.defaultBranch=main")
    environment = {"PATH": os.environ["PATH"], "HOME": "/nonexistent", "GIT_CONFIG_NOSYSTEM": "1"}
    ran = subprocess.run(
        ["git", *identity, *words], cwd=folder, env=environment, capture_output=True, text=True, check=True
    )
    return ran.stdout.strip()


def refs(repository: Path, under: str = "") -> str:
    """Where all refs of a repository are."""
    return git("for-each-ref", *([under] if under else []), folder=repository)


def branches(repository: Path) -> str:
    """Where all branches of a repository are; who may push is written beside them."""
    return refs(repository, "refs/heads")
