"""The demo plays the three scenarios with real processes and believes only what it sees."""

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from webordinary.entrypoints.cli.demo import command as demo
from webordinary.entrypoints.cli.demo import stage
from webordinary.entrypoints.cli.demo.scenes import SCENES
from webordinary.entrypoints.cli.main import main


def played(*words: str, folder: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "webordinary", "demo", *words]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=110, env={"TMPDIR": str(folder)}
    )


@pytest.fixture
def short_path() -> Iterator[Path]:
    """A temporary folder with room in its path for the name of a socket."""
    with tempfile.TemporaryDirectory(prefix="wd-") as folder:
        yield Path(folder)


def test_the_three_scenarios_are_seen(short_path: Path) -> None:
    ran = played(folder=short_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "NOT SEEN" not in ran.stdout
    assert ran.stdout.count("\nseen     ") == 3
    assert list(short_path.iterdir()) == []


def test_the_verdicts_come_as_json(short_path: Path) -> None:
    home = short_path / "kept"
    ran = played("--json", "--home", str(home), folder=short_path)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    told = json.loads(ran.stdout)
    assert told["seen"] is True
    assert [scene["seen"] for scene in told["scenes"]] == [True, True, True]
    assert any("given in exchange" in moment["what"] for moment in told["timeline"])
    assert (home / "webordinary.db").exists()
    again = played("--home", str(home), folder=short_path)
    assert (again.returncode, again.stdout) == (2, "")


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
