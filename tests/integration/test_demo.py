"""The demo plays the three scenarios with real processes and believes only what it sees."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.waiting import HANG_SECONDS
from webordinary.entrypoints.cli.demo import command as demo
from webordinary.entrypoints.cli.demo import stage
from webordinary.entrypoints.cli.demo.scenes import SCENES
from webordinary.entrypoints.cli.main import main


def played(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "webordinary", "demo"]
    return subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        timeout=HANG_SECONDS,
        env={"TMPDIR": str(folder)},
    )


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A temporary folder with room in its path for the name of a socket."""
    with tempfile.TemporaryDirectory(prefix="wd-") as folder:
        yield Path(folder)


def test_the_three_scenarios_are_seen(short_path: Path) -> None:
    ran = played(short_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "NOT SEEN" not in ran.stdout
    assert ran.stdout.count("\nseen     ") == 3
    assert list(short_path.iterdir()) == []


def test_the_verdicts_come_as_json(
    short_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Of the first scene: the other test has played them all."""
    monkeypatch.setattr(demo, "SCENES", SCENES[:1])
    home = short_path / "kept"
    assert main(["demo", "--json", "--home", str(home)]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["seen"] is True
    assert [scene["seen"] for scene in told["scenes"]] == [True]
    assert any("given in exchange" in moment["what"] for moment in told["timeline"])
    assert (home / "webordinary.db").exists()
    assert main(["demo", "--home", str(home)]) == 2
    assert capsys.readouterr().out == ""


def test_workers_that_do_not_come_up_are_a_verdict_and_not_a_crash(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(stage, "own_command", lambda: ["false"])
    assert main(["demo"]) == 1
    said = capsys.readouterr().out
    assert "worker 0 ended at once: exit code 1" in said
    assert said.count("NOT SEEN") == 2  # the check, and the verdict


@pytest.mark.parametrize("scene", range(3))
def test_a_pool_that_does_not_do_its_work_is_not_taken_for_one_that_does(
    scene: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A demo that can't fail shows nothing."""
    monkeypatch.setattr(stage, "WORKER", (*stage.WORKER, "--only", "no/body"))
    monkeypatch.setattr(demo, "SCENES", SCENES[scene : scene + 1])
    monkeypatch.setattr("webordinary.entrypoints.cli.demo.scenes.WITHIN_SECONDS", 0.5)
    monkeypatch.setattr(demo, "FIRST_RELEASE_SECONDS", 0.5)
    assert main(["demo"]) == 1
    assert "NOT SEEN" in capsys.readouterr().out
