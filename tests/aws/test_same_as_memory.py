"""The same random calls on the reference model and on the cloud give the same answers and the same store.

Far fewer than on SQLite: a call takes a hundred times as long here, and every comparison reads everything.
"""

import os

import pytest
from hypothesis import HealthCheck, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.aws.emulated import new_settings, set_up
from tests.conformance.test_same_as_memory import FEW, SameAsMemory
from webordinary.backends.aws.open import open_aws

EXAMPLES = os.environ.get("WEBORDINARY_EXAMPLES")


class CloudSameAsMemory(SameAsMemory):
    """The cloud in the place of SQLite."""

    endpoint = ""

    def __init__(self) -> None:
        super().__init__()
        self._sqlite.close()
        chosen = new_settings(self.endpoint)
        set_up(chosen, self._clock)
        self._sqlite = open_aws(chosen, self._clock, FEW)


def test_the_cloud_behaves_like_the_reference_model(cloud: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CloudSameAsMemory, "endpoint", cloud)
    run_state_machine_as_test(
        CloudSameAsMemory,
        settings=settings(
            max_examples=int(EXAMPLES or 4),
            stateful_step_count=40,
            derandomize=not EXAMPLES,
            database=None,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
