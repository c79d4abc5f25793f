"""Putting the cloud together: tables and queues, buckets, the mail service, the state machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

from webordinary.backends.aws.blobs import S3Blobs
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.open import check_aws, open_aws
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.workflow import Route, StateMachine
from webordinary.core.errors import BadInput, NotFound
from webordinary.core.lane import Lane
from webordinary.core.release import Place
from webordinary.mail.s3_letters import S3Letters
from webordinary.mail.ses_mailer import ONE_ATTEMPT, SesMailer
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.sites.s3_publisher import S3Publisher
from webordinary.system.s3_client import LaterS3Client
from webordinary.wiring.settings import PROJECT, Settings


def aws_settings(settings: Settings) -> AwsSettings:
    """Say which tables and queues are ours, in which account and region."""
    cloud = settings.cloud
    if not cloud.region:
        raise BadInput("the aws backend needs a region: set AWS_REGION, for example to us-east-1")
    return AwsSettings(
        region=cloud.region,
        endpoint=cloud.endpoint or None,
        account=cloud.account or None,
        prefix=cloud.prefix,
        ownership_table=cloud.ownership_table or None,
        active_jobs_table=cloud.active_jobs_table or None,
        unclaimed_queue_url=cloud.unclaimed_queue_url or None,
    )


def cloud_backend(settings: Settings, clock: Clock) -> Backend:
    """Open the store. The tables have to be there: `webordinary cloud setup` makes them."""
    blobs = None
    if settings.cloud.blobs_bucket:
        blobs = S3Blobs(buckets(settings), settings.cloud.blobs_bucket)
    return open_aws(aws_settings(settings), clock, settings.limits, blobs=blobs)


async def check_cloud(settings: Settings) -> None:
    """Refuse to start where something is missing, in one sentence, and not only at the first job."""
    settings.cloud.bucket("blobs_bucket")
    settings.cloud.signing_key()
    await check_aws(aws_settings(settings))


def cloud_publisher(settings: Settings) -> S3Publisher:
    """Open the buckets of sites: each project has two of its own."""
    cloud = settings.cloud

    def address(project: str, place: Place) -> str:
        pattern = cloud.live_address if place is Place.LIVE else cloud.preview_address
        return pattern.replace(PROJECT, project)

    return S3Publisher(
        buckets(settings),
        address=address,
        preview_bucket=partial(site_bucket, settings, Place.PREVIEW),
        live_bucket=partial(site_bucket, settings, Place.LIVE),
    )


def site_bucket(settings: Settings, place: Place, project: str) -> str:
    """Name the bucket of a project's site."""
    cloud = settings.cloud
    pattern = cloud.live_bucket if place is Place.LIVE else cloud.preview_bucket
    return pattern.replace(PROJECT, project)


def buckets(settings: Settings) -> LaterS3Client:
    """Reach all buckets."""
    return LaterS3Client(_client_of(aws_settings(settings), "s3"))


def cloud_mailer(settings: Settings) -> SesMailer:
    """Send through the mail service, as the one address that people write to."""
    return SesMailer(_client_of(aws_settings(settings), "sesv2", ONE_ATTEMPT), settings.mail.address)


def cloud_letters(settings: Settings) -> S3Letters:
    """Open the copies of what was sent."""
    return S3Letters(buckets(settings), settings.cloud.bucket("blobs_bucket"))


def cloud_workflow(settings: Settings) -> StateMachine | None:
    """Reach the state machine; without one, jobs are carried out and nobody follows them."""
    if not settings.cloud.state_machine_arn:
        return None
    names = aws_settings(settings)
    client = _client_of(names, "stepfunctions")
    return StateMachine(client, settings.cloud.state_machine_arn, _route_of(names))


def _route_of(names: AwsSettings) -> Route:
    """Say where the state machine finds a lane. Queues of one account are beside each other."""
    unclaimed = names.unclaimed_queue_url or ""

    async def route(lane: Lane) -> dict[str, Any]:
        nonlocal unclaimed
        if not unclaimed:
            answer = await _line(names).call("sqs", "get_queue_url", QueueName=names.unclaimed)
            unclaimed = str(answer["QueueUrl"])
        beside = unclaimed.rpartition("/")[0]
        return {
            "inputQueueUrl": f"{beside}/{names.input_of(lane)}",
            "unclaimedQueueUrl": unclaimed,
            "ownershipTable": names.lanes,
            "activeJobsTable": names.active,
        }

    return route


class NoRepositories:
    """See `Repositories`: a folder of one container would be lost with it, so none is made here."""

    async def create(self, project: str, starter: Path | None = None) -> str:
        """See `Repositories.create`."""
        del starter
        raise NotFound(
            f"{project} has no repository, and in the cloud none is made for it. Nothing was changed; "
            f"give it one: `webordinary onboard {project} ... --repo URL --change`"
        )


# --- lines ----------------------------------------------------------------------------------------

# One for all that one event loop does, kept until the loop ends and closes it. What is built before a loop
# runs, as most of wiring is, finds its line with its first call.
_lines: dict[tuple[asyncio.AbstractEventLoop, AwsSettings, object], Cloud] = {}


def _line(names: AwsSettings, config: object = None) -> Cloud:
    key = (asyncio.get_running_loop(), names, config)
    if key not in _lines:
        for ended in [known for known in list(_lines) if known[0].is_closed()]:
            _lines.pop(ended, None)
        _lines[key] = Cloud(names) if config is None else Cloud(names, config)
    return _lines[key]


def _client_of(names: AwsSettings, service: str, config: object = None) -> Callable[[], Awaitable[Any]]:
    async def client() -> Any:  # noqa: ANN401 - botocore makes its classes while it runs
        return await _line(names, config).client(service)

    return client


@asynccontextmanager
async def open_cloud(settings: Settings) -> AsyncIterator[Cloud]:
    """Reach the cloud for a while."""
    cloud = Cloud(aws_settings(settings))
    try:
        yield cloud
    finally:
        await cloud.aclose()
