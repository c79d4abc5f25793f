"""The log of a long-running command."""

import io
import json
import logging
from collections.abc import Iterator

import pytest

from webordinary.entrypoints.cli.logs import LOGGERS, start_logging


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    loggers = [logging.getLogger(name) for name in LOGGERS]
    states = [(one.handlers[:], one.level, one.propagate) for one in loggers]
    raises = logging.raiseExceptions
    yield
    logging.raiseExceptions = raises
    for one, (handlers, level, propagate) in zip(loggers, states, strict=True):
        one.handlers[:], one.level, one.propagate = handlers, level, propagate


@pytest.mark.parametrize("as_json", [True, False])
def test_what_a_stranger_says_is_one_harmless_line(monkeypatch: pytest.MonkeyPatch, *, as_json: bool) -> None:
    """The SMTP library logs commands that it does not know: they come from anybody."""
    monkeypatch.setattr("sys.stderr", written := io.StringIO())
    start_logging("gateway", as_json=as_json)
    logging.getLogger("mail.log").warning("unrecognised: %s", "\x1b[2J\nx")
    assert len(lines := written.getvalue().splitlines()) == 1
    assert "\x1b" not in lines[0]
    assert not as_json or json.loads(lines[0])["level"] == "warning"
