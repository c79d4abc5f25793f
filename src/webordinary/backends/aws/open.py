"""Open the cloud backend."""

from __future__ import annotations

from webordinary.backends.admissions import StepwiseAdmissions
from webordinary.backends.aws.bounces import AwsBounces
from webordinary.backends.aws.callbacks import Callbacks
from webordinary.backends.aws.changing import Lanes
from webordinary.backends.aws.checkpoints import AwsCheckpoints
from webordinary.backends.aws.claiming import Claiming
from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.directory import AwsDirectory
from webordinary.backends.aws.dynamo import Dynamo
from webordinary.backends.aws.hints import Hints
from webordinary.backends.aws.journal import AwsJournal
from webordinary.backends.aws.ledger import AwsLedger
from webordinary.backends.aws.listening import Listening
from webordinary.backends.aws.mailbox import AwsMailbox
from webordinary.backends.aws.outbox import AwsOutbox
from webordinary.backends.aws.pressure import Pressure
from webordinary.backends.aws.queues import Queues
from webordinary.backends.aws.quotas import AwsQuotas
from webordinary.backends.aws.settings import AwsSettings
from webordinary.backends.aws.store import AwsGatekeeper, AwsStore
from webordinary.backends.aws.tables import create_tables, missing_tables
from webordinary.backends.aws.wakeups import CloudWakeups
from webordinary.backends.aws.workers import Workers
from webordinary.backends.broker import TransactionalBroker
from webordinary.core.errors import BadInput, SchemaMismatch
from webordinary.core.limits import Limits
from webordinary.ports.backend import Backend
from webordinary.ports.blobs import Blobs
from webordinary.ports.clock import Clock


def open_aws(
    settings: AwsSettings,
    clock: Clock,
    limits: Limits,
    *,
    cloud: Cloud | None = None,
    blobs: Blobs | None = None,
) -> Backend:
    """Open the backend; connections are made with the first call. The tables have to be there."""
    blobs = blobs or NoBlobs()
    cloud = cloud or Cloud(settings)
    dynamo = Dynamo(cloud, clock)
    wakeups = CloudWakeups(settings.look_again_seconds)
    callbacks = Callbacks(cloud, dynamo, settings, clock)
    queues = Queues(cloud, settings, clock)
    lanes = Lanes(dynamo, settings, limits, clock, Hints(wakeups, queues, callbacks, clock))
    news_seconds = settings.news_leases * limits.lease_seconds
    workers = Workers(dynamo, settings, clock, news_seconds)
    gatekeeper = AwsGatekeeper(dynamo, settings, clock, limits)
    listening = Listening(lanes, queues, callbacks, wakeups)
    store = AwsStore(
        lanes,
        Claiming(lanes, workers, callbacks, Pressure(clock, limits, news_seconds)),
        gatekeeper,
        wakeups,
        listening,
    )
    broker = TransactionalBroker(store, wakeups, clock)
    mailbox, quotas = AwsMailbox(dynamo, settings, clock), AwsQuotas(lanes)
    outbox = AwsOutbox(dynamo, settings, wakeups, clock)

    def close() -> None:
        listening.close()
        cloud.close()

    return Backend(
        broker=broker,
        gatekeeper=gatekeeper,
        ledger=AwsLedger(lanes, workers, wakeups),
        control=store,
        directory=AwsDirectory(dynamo, settings, clock),
        mailbox=mailbox,
        outbox=outbox,
        quotas=quotas,
        blobs=blobs,
        admissions=StepwiseAdmissions(quotas, mailbox, broker, outbox, blobs),
        journal=AwsJournal(lanes, wakeups),
        checkpoints=AwsCheckpoints(dynamo, settings),
        bounces=AwsBounces(dynamo, settings, clock),
        close=close,
    )


class NoBlobs:
    """See `Blobs`. For those who look at lanes and jobs only: they need no bucket."""

    async def put(self, content: bytes) -> str:
        """Refuse."""
        raise BadInput(f"there is no bucket to keep these {len(content)} bytes in")

    async def get(self, key: str) -> bytes:
        """Refuse."""
        raise BadInput(f"there is no bucket to look for the blob {key} in")


async def set_up_aws(settings: AwsSettings, clock: Clock) -> None:
    """Create the tables and the queue of claim requests; safe to repeat."""
    cloud = Cloud(settings)
    try:
        await create_tables(cloud, settings, clock)
        await Queues(cloud, settings, clock).create_unclaimed()
    finally:
        await cloud.aclose()


async def check_aws(settings: AwsSettings) -> None:
    """Refuse to start where a table is missing, in one sentence."""
    cloud = Cloud(settings)
    try:
        missing = await missing_tables(cloud, settings)
    finally:
        await cloud.aclose()
    if missing:
        raise SchemaMismatch(
            f"these tables are missing in {settings.region}: {', '.join(missing)}. "
            "Nothing was changed; `webordinary cloud setup` makes them, or look at the prefix, region and "
            "account in the settings."
        )
