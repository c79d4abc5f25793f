"""What the cloud backend has to be told. Names are those that operators already have."""

from __future__ import annotations

from dataclasses import dataclass

from webordinary.core.errors import BadInput
from webordinary.core.lane import QUEUE_NAME_CHARACTERS, Lane

PREFIX = "webordinary"
SKEW_SECONDS = 2.0
LOOK_AGAIN_SECONDS = 2.0
RECEIVE_SECONDS = 20  # the longest poll that SQS knows
NEWS_LEASES = 0.5  # two beats of four
_FIFO = ".fifo"


@dataclass(frozen=True, slots=True)
class AwsSettings:
    """Where everything lives in the cloud. Credentials are found by the client itself, never here."""

    region: str = "us-east-1"
    endpoint: str | None = None  # None: the real cloud
    account: str | None = None
    prefix: str = PREFIX  # how the names of tables and queues begin
    ownership_table: str | None = None  # None: by the prefix; the same for the next two
    active_jobs_table: str | None = None
    unclaimed_queue_url: str | None = None
    skew_seconds: float = SKEW_SECONDS  # how far the clocks of two workers may be apart
    look_again_seconds: float = LOOK_AGAIN_SECONDS  # where another process can't wake a waiter
    receive_seconds: int = RECEIVE_SECONDS
    news_leases: float = NEWS_LEASES  # how old, in leases, what a beat knows of the pool may be

    # --- tables -----------------------------------------------------------------------------------

    @property
    def lanes(self) -> str:
        """Lanes and who owns them."""
        return self.ownership_table or f"{self.prefix}-container-ownership"

    @property
    def active(self) -> str:
        """What runs in each lane right now."""
        return self.active_jobs_table or f"{self.prefix}-active-jobs"

    @property
    def projects(self) -> str:
        """Projects and who may edit them."""
        return f"{self.prefix}-project-configs"

    @property
    def jobs(self) -> str:
        """Jobs, their long texts, what they say, and which mail each came from."""
        return f"{self.prefix}-jobs"

    @property
    def ledger(self) -> str:
        """What happened to each lane, and what its jobs left."""
        return f"{self.prefix}-ledger"

    @property
    def sessions(self) -> str:
        """Mails, conversations and their threads."""
        return f"{self.prefix}-sessions"

    @property
    def outbox(self) -> str:
        """Letters and callbacks that are owed."""
        return f"{self.prefix}-outbox"

    @property
    def workers(self) -> str:
        """Workers that showed themselves."""
        return f"{self.prefix}-workers"

    @property
    def quotas(self) -> str:
        """Token buckets."""
        return f"{self.prefix}-quotas"

    # --- queues -----------------------------------------------------------------------------------

    @property
    def unclaimed(self) -> str:
        """The one queue of claim requests."""
        return f"{self.prefix}-unclaimed"

    @property
    def unclaimed_dead(self) -> str:
        """What was in that queue and is none."""
        return f"{self.prefix}-unclaimed-dead"

    def input_of(self, lane: Lane) -> str:
        """The input queue of a lane."""
        return self._fifo(f"{self.prefix}-input-{lane.project}-{lane.user}")

    def dead_of(self, lane: Lane) -> str:
        """The dead-letter queue of a lane: no input queue of any lane is called so."""
        return self._fifo(f"{self.prefix}-dead-{lane.project}-{lane.user}")

    def lane_of(self, name: str) -> Lane | None:
        """The lane that an input queue or a dead-letter queue belongs to; None for all other queues."""
        for kind in ("input", "dead"):
            begins = f"{self.prefix}-{kind}-"
            if name.startswith(begins) and name.endswith(_FIFO):
                project, _, user = name[len(begins) : -len(_FIFO)].rpartition("-")  # a user has no hyphen
                return Lane(project, user)
        return None

    def _fifo(self, name: str) -> str:
        name += _FIFO
        if len(name) > QUEUE_NAME_CHARACTERS:
            raise BadInput(
                f"the queue name {name} is longer than {QUEUE_NAME_CHARACTERS}: shorten the prefix"
            )
        return name
