"""Whether the cloud has what a pool needs, one thing after the other, and what to do where it has not."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.errors import NoQueue
from webordinary.backends.aws.tables import missing_tables, tables
from webordinary.core.errors import WebordinaryError
from webordinary.sites.s3_buckets import is_there
from webordinary.wiring.cloud import aws_settings, open_cloud
from webordinary.wiring.settings import Settings

SETUP = "`webordinary cloud setup` makes what is missing"


@dataclass(frozen=True, slots=True)
class CloudCheck:
    """What was checked, and the result. Without what is not `needed`, less is possible."""

    what: str
    good: bool
    text: str
    needed: bool = True


async def check_all(settings: Settings) -> list[CloudCheck]:
    """Check everything; what can't be checked counts as missing."""
    checks: tuple[tuple[str, Callable[[Settings, Cloud], Awaitable[CloudCheck]]], ...] = (
        ("account", _account),
        ("tables", _tables),
        ("queue", _queue),
        ("mail", _mail_bucket),
        ("blobs", _blobs_bucket),
        ("key", _key),
        ("workflow", _workflow),
        ("replies", _replies),
    )
    found = []
    async with open_cloud(settings) as cloud:
        for what, check in checks:
            try:
                found.append(await check(settings, cloud))
            except WebordinaryError as error:
                found.append(CloudCheck(what, good=False, text=str(error)))
    return found


async def _account(settings: Settings, cloud: Cloud) -> CloudCheck:
    answer = await cloud.call("sts", "get_caller_identity")
    return CloudCheck(
        "account",
        good=True,
        text=f"{answer['Account']} in {aws_settings(settings).region}, as {answer['Arn']}",
    )


async def _tables(settings: Settings, cloud: Cloud) -> CloudCheck:
    names = aws_settings(settings)
    missing = await missing_tables(cloud, names)
    if missing:
        return CloudCheck("tables", good=False, text=f"missing: {', '.join(missing)}; {SETUP}")
    return CloudCheck("tables", good=True, text=f"all {len(tables(names))} of {names.prefix}-* are there")


async def _queue(settings: Settings, cloud: Cloud) -> CloudCheck:
    name = aws_settings(settings).unclaimed
    try:
        await cloud.call("sqs", "get_queue_url", QueueName=name)
    except NoQueue:
        return CloudCheck(
            "queue", good=False, text=f"there is no {name}, where lanes ask for a worker; {SETUP}"
        )
    return CloudCheck("queue", good=True, text=f"{name} is there")


async def _mail_bucket(settings: Settings, cloud: Cloud) -> CloudCheck:
    return await _bucket("mail", settings.cloud.bucket("mail_bucket"), cloud)


async def _blobs_bucket(settings: Settings, cloud: Cloud) -> CloudCheck:
    return await _bucket("blobs", settings.cloud.bucket("blobs_bucket"), cloud)


async def _bucket(what: str, bucket: str, cloud: Cloud) -> CloudCheck:
    if await is_there(await cloud.client("s3"), bucket):
        return CloudCheck(what, good=True, text=f"the bucket {bucket} is there")
    return CloudCheck(what, good=False, text=f"there is no bucket {bucket}; {SETUP}")


async def _key(settings: Settings, _: Cloud) -> CloudCheck:
    settings.cloud.signing_key()
    return CloudCheck("key", good=True, text="reply addresses are signed")


async def _workflow(settings: Settings, cloud: Cloud) -> CloudCheck:
    arn = settings.cloud.state_machine_arn
    if not arn:
        text = f"none is set: jobs are carried out, but no execution follows them; {SETUP} (--role)"
        return CloudCheck("workflow", good=False, text=text, needed=False)
    answer = await cloud.call("stepfunctions", "describe_state_machine", stateMachineArn=arn)
    status = str(answer["status"])
    return CloudCheck("workflow", good=status == "ACTIVE", text=f"{answer['name']} is {status.lower()}")


async def _replies(settings: Settings, cloud: Cloud) -> CloudCheck:
    """The mail service sends only as an address, or from a domain, that it has verified."""
    if settings.mail.relay:
        return CloudCheck("replies", good=True, text="leave through the relay")
    address, why_not = settings.mail.address, ""
    for identity in (address, address.rpartition("@")[2]):
        try:
            answer = await cloud.call("sesv2", "get_email_identity", EmailIdentity=identity)
        except WebordinaryError as error:
            why_not = str(error)
            continue
        if answer.get("VerifiedForSendingStatus"):
            return CloudCheck("replies", good=True, text=f"leave as {address}; {identity} is verified")
        why_not = f"{identity} is not verified yet."
    text = f"can't leave as {address}: {why_not} Verify it in the mail service"
    return CloudCheck("replies", good=False, text=text)
