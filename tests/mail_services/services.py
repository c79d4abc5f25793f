"""The mail services as their documentation describes them: each posts a mail, signed in its own way."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import count
from urllib.parse import quote, quote_from_bytes, urlencode

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from webordinary.wiring.settings import MailSettings

ADDRESS = "edit@us.example"
SECRET = "a secret of sufficient length"
OTHER_SECRET = "some other secret, as long as it"
SENDGRID_KEY, OTHER_SENDGRID_KEY = (ec.generate_private_key(ec.SECP256R1()) for _ in range(2))
WHSEC, OTHER_WHSEC = ("whsec_" + base64.b64encode(text.encode()).decode() for text in (SECRET, OTHER_SECRET))
NAMES = ("mailgun", "postmark", "sendgrid", "resend", "cloudflare")
numbers = count(1)


def public_key(key: ec.EllipticCurvePrivateKey) -> str:
    der = key.public_key().public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return base64.b64encode(der).decode()


def settings(resend_api: str) -> MailSettings:
    """All five set up."""
    return MailSettings(
        address=ADDRESS,
        inbound_port=0,
        inbound_mailgun_key=SECRET,
        inbound_postmark_password=SECRET,
        inbound_sendgrid_key=public_key(SENDGRID_KEY),
        inbound_resend_secret=WHSEC,
        inbound_resend_api_key="re_key",
        inbound_resend_api=resend_api,
        inbound_cloudflare_secret=SECRET,
    )


@dataclass(frozen=True)
class Handed:
    """A mail that a service has received, and how it tells us."""

    raw: bytes
    recipients: tuple[str, ...] = (ADDRESS,)
    mail_from: str = "owner@victim.example"
    at: float = field(default_factory=time.time)  # when it is signed
    forged: bool = False  # signed with another secret
    number: str = field(default_factory=lambda: f"{next(numbers):032d}")


@dataclass(frozen=True)
class Posted:
    """A request."""

    path: str
    headers: dict[str, str]
    body: bytes

    def without(self, *headers: str) -> Posted:
        return replace(
            self, headers={name: value for name, value in self.headers.items() if name.lower() not in headers}
        )

    def with_body(self, body: bytes) -> Posted:
        return replace(self, body=body)


def multipart(**fields: bytes) -> tuple[str, bytes]:
    boundary = "xYzZY"
    parts = [
        f'--{boundary}\r\nContent-Disposition: form-data; name="{name.replace("_", "-")}"\r\n\r\n'.encode()
        + value
        + b"\r\n"
        for name, value in fields.items()
    ]
    return f"multipart/form-data; boundary={boundary}", b"".join([*parts, f"--{boundary}--\r\n".encode()])


def mailgun_fields(mail: Handed) -> dict[str, bytes]:
    stamp, token = str(int(mail.at)), mail.number
    key = OTHER_SECRET if mail.forged else SECRET
    signature = hmac.new(key.encode(), f"{stamp}{token}".encode(), hashlib.sha256).hexdigest()
    return {
        "recipient": ",".join(mail.recipients).encode(),
        "sender": mail.mail_from.encode(),
        "subject": b"The homepage",
        "from": b"Owner <owner@victim.example>",
        "X-Mailgun-Incoming": b"Yes",
        "message-headers": b"[]",
        "timestamp": stamp.encode(),
        "token": token.encode(),
        "signature": signature.encode(),
        "body-mime": mail.raw,
    }


def mailgun(mail: Handed) -> Posted:
    fields = mailgun_fields(mail)
    body = "&".join(f"{name}={quote_from_bytes(value, safe='')}" for name, value in fields.items())
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    return Posted("/inbound/mailgun/mime", headers, body.encode())


def mailgun_multipart(mail: Handed) -> Posted:
    kind, body = multipart(**{name.replace("-", "_"): value for name, value in mailgun_fields(mail).items()})
    return Posted("/inbound/mailgun/mime", {"Content-Type": kind}, body)


def postmark(mail: Handed) -> Posted:
    password = OTHER_SECRET if mail.forged else SECRET
    posted = {
        "FromFull": {"Email": "owner@victim.example", "Name": "Owner", "MailboxHash": ""},
        "ToFull": [{"Email": to, "Name": "", "MailboxHash": ""} for to in mail.recipients],
        "CcFull": [],
        "BccFull": [],
        "OriginalRecipient": mail.recipients[0],
        "MessageStream": "inbound",
        "MessageID": mail.number,
        "RawEmail": mail.raw.decode(),
        "Attachments": [],
    }
    login = base64.b64encode(f"webordinary:{password}".encode()).decode()
    headers = {"Content-Type": "application/json; charset=utf-8", "Authorization": f"Basic {login}"}
    return Posted("/inbound/postmark", headers, json.dumps(posted).encode())


def sendgrid(mail: Handed, sender_ip: str = "203.0.113.66") -> Posted:
    envelope = json.dumps({"to": list(mail.recipients), "from": mail.mail_from}).encode()
    kind, body = multipart(
        dkim=b"{@victim.example : pass}",
        to=b"edit@us.example",
        email=mail.raw,
        sender=mail.mail_from.encode(),
        envelope=envelope,
        SPF=b"pass",
    )
    ip = f'--xYzZY\r\nContent-Disposition: form-data; name="sender_ip"\r\n\r\n{sender_ip}\r\n'.encode()
    return sendgrid_signed(mail, kind, ip + body)


def sendgrid_signed(mail: Handed, kind: str, body: bytes) -> Posted:
    stamp = str(int(mail.at))
    key = OTHER_SENDGRID_KEY if mail.forged else SENDGRID_KEY
    signature = base64.b64encode(key.sign(stamp.encode() + body, ec.ECDSA(SHA256()))).decode()
    headers = {
        "Content-Type": kind,
        "X-Twilio-Email-Event-Webhook-Signature": signature,
        "X-Twilio-Email-Event-Webhook-Timestamp": stamp,
    }
    return Posted("/inbound/sendgrid", headers, body)


resend_mails: dict[str, bytes] = {}  # what Resend's API has


def resend(mail: Handed) -> Posted:
    email_id = hashlib.sha256(mail.raw).hexdigest()[:36]
    resend_mails[email_id] = mail.raw
    event = {
        "type": "email.received",
        "created_at": "2026-02-22T23:41:12.126Z",
        "data": {
            "email_id": email_id,
            "from": "Owner <owner@victim.example>",
            "to": [f"The site <{mail.recipients[0]}>"],
            "received_for": list(mail.recipients),
            "cc": [],
            "bcc": [],
            "message_id": "<1@victim.example>",
            "subject": "The homepage",
            "attachments": [],
        },
    }
    return resend_signed(mail, json.dumps(event).encode())


def resend_signed(mail: Handed, body: bytes) -> Posted:
    stamp, number = str(int(mail.at)), f"msg_{mail.number}"
    key = (OTHER_SECRET if mail.forged else SECRET).encode()
    signature = base64.b64encode(hmac.digest(key, f"{number}.{stamp}.".encode() + body, "sha256")).decode()
    headers = {
        "Content-Type": "application/json",
        "svix-id": number,
        "svix-timestamp": stamp,
        "svix-signature": f"v1,bm90IHRoaXMgb25l v1,{signature}",  # a key is being exchanged
    }
    return Posted("/inbound/resend", headers, body)


def cloudflare(mail: Handed) -> Posted:
    key = OTHER_SECRET if mail.forged else SECRET
    line = [str(int(mail.at)), quote(mail.mail_from, safe=""), quote(mail.recipients[0], safe="")]
    signed = "\n".join([*line, hashlib.sha256(mail.raw).hexdigest()])
    signature = hmac.new(key.encode(), signed.encode(), hashlib.sha256).hexdigest()
    names = ("X-Webordinary-Time", "X-Webordinary-From", "X-Webordinary-To")
    headers = dict(zip(names, line, strict=True)) | {"X-Webordinary-Signature": signature}
    return Posted("/inbound/cloudflare", {"Content-Type": "message/rfc822"} | headers, mail.raw)


POST: dict[str, Callable[[Handed], Posted]] = {
    "mailgun": mailgun,
    "postmark": postmark,
    "sendgrid": sendgrid,
    "resend": resend,
    "cloudflare": cloudflare,
}
GIVEN_UP = {"mailgun": 406, "postmark": 403, "sendgrid": 422, "resend": 422, "cloudflare": 422}
TOO_LARGE = GIVEN_UP | {"sendgrid": 413, "resend": 413, "cloudflare": 413}
SIGNED_BY = {  # the headers (or for Mailgun the fields) without which there is no signature
    "postmark": "authorization",
    "sendgrid": "x-twilio-email-event-webhook-signature",
    "resend": "svix-signature",
    "cloudflare": "x-webordinary-signature",
}


def unsigned(name: str, mail: Handed) -> Posted:
    if name != "mailgun":
        return POST[name](mail).without(SIGNED_BY[name])
    fields = {key: value for key, value in mailgun_fields(mail).items() if key != "signature"}
    return mailgun(mail).with_body(urlencode(fields).encode())
