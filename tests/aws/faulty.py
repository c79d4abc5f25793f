"""A cloud that fails on purpose, before or after it did what it was asked to."""

from typing import Any

from webordinary.backends.aws.client import Cloud
from webordinary.backends.aws.settings import AwsSettings


class FaultyCloud(Cloud):
    """The emulated cloud behind a line that may break at chosen calls."""

    def __init__(self, settings: AwsSettings) -> None:
        super().__init__(settings)
        self.before: dict[str, list[Exception]] = {}  # by operation: raised instead of the call, one by one
        self.after: dict[str, list[Exception]] = {}  # raised although the call took effect
        self.made: list[str] = []

    async def call(self, service: str, operation: str, **parameters: Any) -> dict[str, Any]:  # noqa: ANN401
        self.made.append(f"{service} {operation}")
        if self.before.get(operation):
            raise self.before[operation].pop(0)
        answer = await super().call(service, operation, **parameters)
        if self.after.get(operation):
            raise self.after[operation].pop(0)
        return answer

    def count(self, service: str) -> int:
        """How many calls a service got since it was last asked."""
        number = sum(made.startswith(f"{service} ") for made in self.made)
        self.made = [made for made in self.made if not made.startswith(f"{service} ")]
        return number
