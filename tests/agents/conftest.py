"""Where agents work in tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.agents.claude_runs import Place
from tests.needs import needs
from webordinary.agents.claude.options import claude_available
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.unconfined import Unconfined


def needs_claude() -> None:
    """Skip without Claude Code; with CI=true fail."""
    if (missing := claude_available()) is not None:
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)


@pytest.fixture
def confined(tmp_path: Path) -> Place:
    needs_claude()
    needs("bwrap")
    return Place(Bubblewrap(), tmp_path)


@pytest.fixture
def unconfined(tmp_path: Path) -> Place:
    needs_claude()
    return Place(Unconfined(), tmp_path)


@pytest.fixture(params=["confined", "unconfined"])
def anywhere(request: pytest.FixtureRequest) -> Place:
    place = request.getfixturevalue(request.param)
    assert isinstance(place, Place)
    return place
