"""Putting the cloud together: tables and queues, buckets, the mail service, the state machine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
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
from webordinary.wiring.platform import Traits, store_id
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


@dataclass(frozen=True, slots=True)
class AwsPlatform:
    """See `Platform`."""

    settings: Settings

    @property
    def traits(self) -> Traits:
        """See `Platform.traits`."""
        return Traits(
            f"the cloud's tables {self.settings.cloud.prefix}-*",
            is_local=False,
            mail_service="the cloud's mail service",
            lanes_need_setup=True,
            makes_repositories=False,
        )

    def backend(self, clock: Clock) -> Backend:
        """Open the store. The tables have to be there: `webordinary cloud setup` makes them."""
        bucket, blobs = self.settings.cloud.blobs_bucket, None
        if bucket:
            blobs = S3Blobs(buckets(self.settings), bucket)
        return open_aws(aws_settings(self.settings), clock, self.settings.limits, blobs=blobs)

    async def check(self) -> None:
        """See `Platform.check`."""
        self.store_id()
        self.signing_key()
        await check_aws(aws_settings(self.settings))

    def letters(self) -> S3Letters:
        """See `Platform.letters`."""
        return S3Letters(buckets(self.settings), self.settings.cloud.bucket("blobs_bucket"))

    def mailer(self) -> SesMailer:
        """Send through the mail service, as the one address that people write to."""
        client = _client_of(aws_settings(self.settings), "sesv2", ONE_ATTEMPT)
        return SesMailer(client, self.settings.mail.address)

    def sites(self) -> tuple[S3Publisher, NoRepositories]:
        """See `Platform.sites`. Each project has two buckets of its own."""
        cloud = self.settings.cloud

        def address(project: str, place: Place) -> str:
            pattern = cloud.live_address if place is Place.LIVE else cloud.preview_address
            return pattern.replace(PROJECT, project)

        publisher = S3Publisher(
            buckets(self.settings),
            address=address,
            preview_bucket=partial(site_bucket, self.settings, Place.PREVIEW),
            live_bucket=partial(site_bucket, self.settings, Place.LIVE),
        )
        return publisher, NoRepositories()

    def workflow(self) -> StateMachine | None:
        """Reach the state machine; without one, jobs are carried out and nobody follows them."""
        arn = self.settings.cloud.state_machine_arn
        if not arn:
            return None
        names = aws_settings(self.settings)
        return StateMachine(_client_of(names, "stepfunctions"), arn, _route_of(names))

    def signing_key(self) -> bytes:
        """See `Platform.signing_key`."""
        return self.settings.cloud.signing_key()

    def store_id(self) -> str:
        """See `Platform.store_id`. Names of buckets are the same for all the world."""
        cloud = self.settings.cloud
        return store_id(f"{cloud.prefix} {cloud.bucket('blobs_bucket')}")


def site_bucket(settings: Settings, place: Place, project: str) -> str:
    """Name the bucket of a project's site."""
    cloud = settings.cloud
    pattern = cloud.live_bucket if place is Place.LIVE else cloud.preview_bucket
    return pattern.replace(PROJECT, project)


def buckets(settings: Settings) -> LaterS3Client:
    """Reach all buckets."""
    return LaterS3Client(_client_of(aws_settings(settings), "s3"))


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
