"""A cloud with a meter: calls and units by what they were for, and minutes that take no time."""

from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any

from tests.aws.faulty import FaultyCloud
from tests.conformance.world import ManualClock
from webordinary.backends.aws.settings import RECEIVE_SECONDS, AwsSettings

# List prices in USD for a million, us-east-1, from stored pages: to be checked before they are quoted.
PRICES = {"writes": 0.625, "reads": 0.125, "sqs": 0.50}

COLUMNS = ("dynamodb", "sqs", "writes", "reads")


class MeteredCloud(FaultyCloud):
    """Counts into a meter that several may share.

    While time passes, a poll that found nothing moves the clock by the twenty seconds that it takes in the
    real cloud. At other times such polls are not counted.
    """

    def __init__(self, settings: AwsSettings, clock: ManualClock, meter: Counter[str]) -> None:
        super().__init__(replace(settings, receive_seconds=1))
        self._clock, self.meter = clock, meter
        self.polled: Callable[[], Awaitable[None]] | None = None  # set: time passes

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        if operation == "receive_message":
            return await self._receive(**parameters)
        self.meter[service] += 1
        if service == "dynamodb":
            self.meter.update(units(operation, parameters))
        return await super().call(service, operation, **parameters)

    async def _receive(self, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        if self.polled is not None:
            parameters["WaitTimeSeconds"] = 0
        answer = await super().call("sqs", "receive_message", **parameters)
        if answer.get("Messages"):
            self.meter["sqs"] += 1
        elif self.polled is not None:
            self.meter["sqs"] += 1
            self._clock.advance(RECEIVE_SECONDS)
            await self.polled()
        return answer


def units(operation: str, parameters: dict[str, Any]) -> Counter[str]:
    """What DynamoDB charges for items of up to 1 KB (4 KB read); indexes and longer items come on top."""
    match operation:
        case "transact_write_items":
            return Counter(writes=2 * len(parameters["TransactItems"]))
        case "put_item" | "update_item" | "delete_item":
            return Counter(writes=1)
        case "batch_get_item":
            return Counter(reads=sum(len(asked["Keys"]) for asked in parameters["RequestItems"].values()))
        case _:
            return Counter(reads=1)  # a look into an index costs half of that


class Bill:
    """Lines, each with what was counted since the one before; lines of one name are added up."""

    def __init__(self, meter: Counter[str]) -> None:
        self._meter = meter
        self.lines: dict[str, Counter[str]] = {}

    def start(self) -> None:
        """Forget what was counted so far."""
        self._meter.clear()

    def line(self, what: str) -> None:
        """Write down what was counted since the last line."""
        self.lines.setdefault(what, Counter()).update(self._meter)
        self._meter.clear()

    def total(self, *but: str) -> Counter[str]:
        """Add all lines up, but for some."""
        return sum((line for what, line in self.lines.items() if what not in but), Counter())


def usd(line: Counter[str]) -> float:
    """What it costs by the list."""
    return sum(line[name] * price for name, price in PRICES.items()) / 1e6


def row(what: str, line: Counter[str]) -> str:
    """One row of the page's tables."""
    numbers = " | ".join(str(line[column]) for column in COLUMNS)
    return f"| {what} | {numbers} | {usd(line):.7f} |"
