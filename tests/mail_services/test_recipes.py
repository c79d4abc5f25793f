"""The recipes of docs/mail-services.md: settings that are read, and a Worker that runs."""

from __future__ import annotations

import asyncio
import json
import re
import tomllib
from email.message import EmailMessage
from pathlib import Path

import pytest

from tests.authentication.world import OWNER
from tests.mail_services.conftest import Room, written
from tests.mail_services.services import ADDRESS, OTHER_SECRET, SECRET, SENDGRID_KEY, WHSEC, public_key
from tests.needs import needs
from webordinary.core.errors import BadInput
from webordinary.core.mail import MailState
from webordinary.wiring.mail_services import open_mail_services, service_names
from webordinary.wiring.settings import credentials, parsed_url, read

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "mail-services.md").read_text()
REAL = {
    "inbound_mailgun_key": SECRET,
    "inbound_postmark_password": SECRET,
    "inbound_sendgrid_key": public_key(SENDGRID_KEY),
    "inbound_resend_secret": WHSEC,
    "inbound_cloudflare_secret": SECRET,
}
WORKER_LINES_MAX = 22
RUN = """
import fs from "node:fs";
const { default: worker } = await import(process.argv[2]);
const { raw, from, to, env } = JSON.parse(fs.readFileSync(0, "utf8"));
const told = { rejected: null, failed: null };
const message = {
  from, to,
  raw: new Blob([Buffer.from(raw, "base64")]).stream(),
  setReject: (reason) => { told.rejected = reason; },
};
try { await worker.email(message, env, {}); } catch (error) { told.failed = String(error); }
console.log(JSON.stringify(told));
"""


@pytest.mark.parametrize("name", ["mailgun", "postmark", "sendgrid", "resend", "cloudflare"])
def test_the_settings_of_a_recipe_open_its_service(name: str) -> None:
    recipe = re.search(rf"^## {name}\n+```toml\n(.*?)```", PAGE, re.MULTILINE | re.DOTALL | re.IGNORECASE)
    assert recipe is not None
    mail = tomllib.loads(recipe[1])["mail"]
    given = {key: REAL[key] for key in mail if key in REAL}
    settings = read(Path(), {"mail": mail | given}, {}).mail
    assert service_names(settings) == (name,)
    (service,) = open_mail_services(settings)
    assert service.name == name
    if name != "cloudflare":  # which has no SMTP
        relay = parsed_url("relay", settings.relay, ("smtp", "smtps"))
        assert relay.port == 587
        assert all(credentials(relay))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"inbound_postmark_password": "short"}, "at least 16"),
        ({"inbound_cloudflare_secret": "short"}, "at least 16"),
        ({"inbound_sendgrid_key": "nonsense"}, "no public key"),
        ({"inbound_sendgrid_key": "SG.abc"}, "no public key"),
        ({"inbound_resend_secret": WHSEC}, "inbound_resend_api_key"),
        ({"inbound_resend_secret": "whsec_%", "inbound_resend_api_key": "re"}, "whsec_"),
        (
            {
                "inbound_resend_secret": WHSEC,
                "inbound_resend_api_key": "re",
                "inbound_resend_api": "http://x",
            },
            "https",
        ),
    ],
)
def test_settings_that_could_not_work_are_refused_at_the_start(settings: dict[str, str], words: str) -> None:
    with pytest.raises(BadInput, match=words):
        open_mail_services(read(Path(), {"mail": settings}, {}).mail)


def test_a_key_may_be_pasted_as_a_file_has_it() -> None:
    pem = f"-----BEGIN PUBLIC KEY-----\n{public_key(SENDGRID_KEY)}\n-----END PUBLIC KEY-----\n"
    assert len(open_mail_services(read(Path(), {"mail": {"inbound_sendgrid_key": pem}}, {}).mail)) == 1


# --- the Worker -----------------------------------------------------------------------------------


def worker_script() -> str:
    found = re.search(r"```js\n(.*?)```", PAGE, re.DOTALL)
    assert found is not None
    return found[1]


def test_the_worker_is_short_enough_to_be_read() -> None:
    assert len(worker_script().splitlines()) <= WORKER_LINES_MAX


async def worker_told(room: Room, folder: Path, raw: bytes, **changed: str) -> dict[str, str | None]:
    """Run the Worker with a mail; give what it told Cloudflare."""
    needs("node", "the Email Worker of the docs is run by it")
    (folder / "worker.mjs").write_text(worker_script())
    (folder / "run.mjs").write_text(RUN)
    mail = {"raw": _base64(raw), "from": changed.get("sender", OWNER), "to": changed.get("to", ADDRESS)}
    env = {"URL": f"{room.address}/inbound/cloudflare", "SECRET": changed.get("secret", SECRET)}
    process = await asyncio.create_subprocess_exec(
        "node",
        str(folder / "run.mjs"),
        str(folder / "worker.mjs"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
    )
    printed, _ = await process.communicate(json.dumps(mail | {"env": env}).encode())
    told: dict[str, str | None] = json.loads(printed)
    return told


def _base64(raw: bytes) -> str:
    attached = EmailMessage()
    attached.set_content(raw, "application", "octet-stream")
    return str(attached.get_payload()).replace("\n", "")


async def test_a_mail_through_the_worker_is_a_job(room: Room, tmp_path: Path) -> None:
    told = await worker_told(room, tmp_path, written(), sender="ümläut+x@victim.example")
    assert told == {"rejected": None, "failed": None}
    (record,) = await room.mails()
    assert record.state is MailState.ACCEPTED
    assert await room.backend.blobs.get(record.blob) == written()


async def test_the_worker_bounces_what_can_never_be_taken(room: Room, tmp_path: Path) -> None:
    told = await worker_told(room, tmp_path, written(), to="sales@us.example")
    assert told == {"rejected": "there is no such mailbox here", "failed": None}


async def test_the_worker_lets_the_sender_try_again_where_that_may_help(room: Room, tmp_path: Path) -> None:
    """Also with a wrong secret: no mail is lost while somebody puts it right."""
    told = await worker_told(room, tmp_path, written(), secret=OTHER_SECRET)
    assert told["rejected"] is None
    assert "401" in (told["failed"] or "")
    with room.store_down():
        told = await worker_told(room, tmp_path, written())
    assert told["rejected"] is None
    assert "503" in (told["failed"] or "")
