"""Mails as the cloud's mail service brings them: raw in a bucket, and an event with the receipt."""

from __future__ import annotations

from email.message import EmailMessage
from typing import Any
from uuid import uuid4

from tests.cloud.conftest import ADDRESS, Account

SCOTT = "scott@example.com"


def mail(
    text: str = "Change the title to Spring Sale", *, sender: str = SCOTT, **headers: str
) -> EmailMessage:
    made = EmailMessage()
    made["From"], made["To"], made["Subject"] = sender, ADDRESS, "My site"
    made["Message-ID"] = f"<{uuid4().hex}@example.com>"
    for name, value in headers.items():
        made[name.replace("_", "-")] = value
    made.set_content(text)
    return made


def event(
    key: str,
    *,
    spf: str = "PASS",
    dkim: str = "PASS",
    dmarc: str = "PASS",
    virus: str = "PASS",
    source: str = SCOTT,
    **others: object,
) -> dict[str, Any]:
    """What the service tells the function, as its documentation has it."""
    verdicts = {"spf": spf, "dkim": dkim, "dmarc": dmarc, "virus": virus, "spam": "PASS"}
    told = {
        "mail": {
            "timestamp": "2026-11-05T10:00:00.000Z",
            "source": source,
            "messageId": key,
            "destination": [ADDRESS],
            "headersTruncated": False,
            "headers": [],
            "commonHeaders": {},
        },
        "receipt": {
            "timestamp": "2026-11-05T10:00:00.000Z",
            "recipients": [ADDRESS],
            **{f"{name}Verdict": {"status": status} for name, status in verdicts.items()},
            "action": {"type": "Lambda", "functionArn": "arn:aws:lambda:::function:ingest"},
            **others,
        },
    }
    return {"Records": [{"eventSource": "aws:ses", "eventVersion": "1.0", "ses": told}]}


async def arrive(account: Account, made: EmailMessage, **verdicts: Any) -> dict[str, Any]:  # noqa: ANN401 - see `event`
    """Put the mail where the service does; give the event that follows."""
    key = uuid4().hex
    await account.call("s3", "put_object", Bucket="raw-mail", Key=key, Body=made.as_bytes())
    return event(key, **verdicts)
