"""Trouble that repeats is told once, then at most every minute with a count, and once when it is over."""

from __future__ import annotations

import logging

import pytest

from webordinary.core.errors import BackendUnavailable
from webordinary.core.log_throttle import EVERY_SECONDS, LogThrottle

REFUSED = "the cloud refuses our credentials"
log = logging.getLogger("tests.trouble")


class Watch:
    """A clock that a test moves."""

    def __init__(self) -> None:
        self.now = 5.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def watch() -> Watch:
    return Watch()


@pytest.fixture
def throttle(watch: Watch, caplog: pytest.LogCaptureFixture) -> LogThrottle:
    caplog.set_level(logging.INFO)
    return LogThrottle(log, watch)


def refused(call: str) -> BackendUnavailable:
    return BackendUnavailable(f"{call}: {REFUSED}", REFUSED)


def test_many_failures_for_one_reason_are_one_line_a_minute(
    throttle: LogThrottle, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    """A worker once told it 87 times in 40 seconds."""
    for number in range(1200):
        watch.now = 5 + number / 10
        throttle.met(("beat failed", "sweep failed", "no answer")[number % 3], refused(f"call {number % 3}"))
    assert caplog.messages == [
        f"beat failed: call 0: {REFUSED}",
        f"beat failed: call 0: {REFUSED} (600 times since the last word of it)",
    ]


def test_the_end_is_told_once_when_all_that_failed_works(
    throttle: LogThrottle, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    for doing in ("beat failed", "sweep failed"):
        throttle.met(doing, refused("x"))
    watch.now += 12
    throttle.met("beat failed", refused("x"))
    throttle.over("beat failed")
    throttle.over("beat failed")
    assert len(caplog.messages) == 1
    throttle.over("sweep failed")
    assert caplog.messages[1:] == ["all works again, after 12 s and 3 failures"]
    throttle.over("sweep failed")
    assert len(caplog.messages) == 2


def test_a_trouble_that_comes_and_goes_is_not_told_each_time(
    throttle: LogThrottle, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(50):
        throttle.met("beat failed", refused("x"))
        throttle.over("beat failed")
        watch.now += 1
    assert len(caplog.messages) == 1
    watch.now += EVERY_SECONDS
    throttle.met("beat failed", refused("x"))
    assert caplog.messages[1:] == [f"beat failed: x: {REFUSED} (50 times since the last word of it)"]


def test_another_reason_is_another_trouble(throttle: LogThrottle, caplog: pytest.LogCaptureFixture) -> None:
    throttle.met("beat failed", refused("x"))
    throttle.met("beat failed", BackendUnavailable("no room"), about="amelia/scott")
    assert caplog.messages == [f"beat failed: x: {REFUSED}", "amelia/scott: beat failed: no room"]


def test_what_never_works_again_because_nobody_tries_does_not_last_for_ever(
    throttle: LogThrottle, watch: Watch, caplog: pytest.LogCaptureFixture
) -> None:
    """A lane that was lost before its job could be settled is not settled later."""
    throttle.met("it is not settled yet", refused("x"))
    throttle.met("it is not settled yet", refused("x"))
    watch.now += EVERY_SECONDS
    throttle.over("beat failed")
    assert caplog.messages[1:] == ["all works again, after 0.0 s and 2 failures"]
