"""The door as part of a running gateway, and what people are told about it."""

from __future__ import annotations

import json

import httpx

from tests.integration.cli_support import FAST_LIMITS
from tests.integration.test_mail_gateway import Mailroom, mailroom, written
from tests.mail_services.services import SECRET, Handed, Posted, cloudflare
from webordinary.core.mail import MailState

__all__ = ["mailroom"]
ADDRESS = "edit@localhost"
MAIL = f"""{FAST_LIMITS}
[mail]
zone_file = "{{zone}}"
inbound_port = 0
inbound_cloudflare_secret = "{SECRET}"
"""


def test_a_gateway_with_a_secret_opens_the_door_and_says_so(mailroom: Mailroom) -> None:
    zone = mailroom.folder / "zone"
    zone.write_text("@ 60 IN SOA ns.invalid. root.invalid. 1 2 3 4 5\n@ 60 IN NS ns.invalid.\n")
    (mailroom.folder / "webordinary.toml").write_text(MAIL.format(zone=zone))
    with mailroom.gateway() as process:
        assert process.stderr is not None
        told = ""
        while "mail services" not in told:
            told = str(json.loads(process.stderr.readline())["message"])
        address = told.split()[-2].removesuffix("/inbound")
        assert told.endswith("/inbound (cloudflare)")
        raw = written("Change the title").as_bytes()
        posted: Posted = cloudflare(Handed(raw, recipients=(ADDRESS,)))
        answer = httpx.post(address + posted.path, headers=posted.headers, content=posted.body)
        assert answer.status_code == 200
        (record,) = mailroom.ask(lambda backend: backend.mailbox.mails(limit=5))
        assert (record.id, record.state) == (answer.json()["kept"], MailState.QUARANTINED)


def test_a_gateway_without_a_secret_opens_none(mailroom: Mailroom) -> None:
    doctor = mailroom.run("doctor", "--json").stdout
    (doors,) = [one["text"] for one in json.loads(doctor) if one["what"] == "mail in"]
    assert doors == "SMTP at 127.0.0.1:2525"


def test_the_doctor_names_the_doors_and_what_is_wrong_with_one(mailroom: Mailroom) -> None:
    settings = mailroom.folder / "webordinary.toml"
    settings.write_text(MAIL.format(zone="") + 'inbound_mailgun_key = "key"\n')
    doctor = json.loads(mailroom.run("doctor", "--json").stdout)
    (doors,) = [one["text"] for one in doctor if one["what"] == "mail in"]
    assert doors.endswith("; mailgun, cloudflare at http://127.0.0.1:0/inbound")
    settings.write_text(MAIL.format(zone="").replace(SECRET, "short"))
    doctor = json.loads(mailroom.run("doctor", "--json").stdout)
    (found,) = [one for one in doctor if one["what"] == "mail in"]
    assert (found["mark"], "at least 16" in found["text"]) == ("bad", True)
    assert "at least 16" in mailroom.complained("gateway", "--smtp-port", "0", code=2)
