"""Choosing a sandbox, and refusing to work without the one that was chosen."""

import stat
from pathlib import Path

import pytest

from tests.needs import needs
from webordinary.core.errors import BadInput
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.probe import CONFINED, UNCONFINED, choose_sandbox, probe
from webordinary.sandbox.sandbox import SandboxUnavailable


def test_both_sandboxes_work_here() -> None:
    needs("bwrap")
    confined, unconfined = choose_sandbox(CONFINED), choose_sandbox(UNCONFINED)
    assert confined.confines
    assert not unconfined.confines
    probe(confined)
    probe(unconfined)


@pytest.mark.parametrize("setting", ["", "off", "none", "Bubblewrap", "off-i-trust-every-sender "])
def test_no_other_word_turns_the_sandbox_off(setting: str) -> None:
    with pytest.raises(BadInput, match="there is no sandbox"):
        choose_sandbox(setting)


def test_a_missing_bubblewrap_says_what_to_install() -> None:
    with pytest.raises(SandboxUnavailable, match="apt install bubblewrap"):
        probe(Bubblewrap(program="no-such-bwrap"))


def test_a_bubblewrap_that_fails_is_refused_in_its_own_words(tmp_path: Path) -> None:
    broken = tmp_path / "bwrap"
    broken.write_text("#!/bin/sh\necho 'bwrap: No permissions to create a new namespace' >&2; exit 1\n")
    broken.chmod(broken.stat().st_mode | stat.S_IXUSR)
    with pytest.raises(SandboxUnavailable, match="No permissions to create a new namespace") as refused:
        probe(Bubblewrap(program=str(broken)))
    assert "To do: " in str(refused.value)
