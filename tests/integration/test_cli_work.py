"""Jobs through real worker processes, driven from the command line only."""

import json
import signal
import sys
from pathlib import Path

import pytest

from tests.integration.cli_support import ECHO, Home, ended, home
from tests.processes import alive
from tests.waiting import wait_until
from webordinary.core.job import JobState

__all__ = ["home"]

SLEEP = ("--handler", "sleep")


def test_a_submitted_job_is_done_and_its_result_comes_back(home: Home) -> None:
    with home.worker():
        said = home.said("submit", "amelia/scott", "say this", "--wait", "60")
    assert "is in amelia/scott, first in line" in said
    assert said.splitlines()[-1].startswith("done after")
    assert said.rstrip().endswith("say this")


def test_a_job_waits_durably_for_the_first_worker(home: Home) -> None:
    said = home.said("submit", "amelia/scott", "early")
    assert "no worker is running; start some with" in said
    home.said("worker", *ECHO, "--exit-when-idle", "0.2")
    assert [job.state for job in home.jobs()] == [JobState.DONE]


def test_one_who_waits_is_told_when_no_worker_has_picked_the_job_up(home: Home) -> None:
    said = home.said("submit", "amelia/scott", "x", "--wait", "0.1", code=8)
    assert "no worker has picked it up within 0.1 s: no worker is running" in said
    told = home.json("submit", "amelia/scott", "y", "--wait", "0", code=8)
    assert (told["picked_up"], told["why"]["cause"], told["ahead"]) == (False, "no worker", 1)


def test_one_who_waits_is_told_whom_the_job_waits_behind(home: Home) -> None:
    with home.worker(*SLEEP):
        job = home.submitted("amelia/scott", "600 long")
        home.until(job, JobState.RUNNING)
        told = home.json("submit", "amelia/scott", "x", "--policy", "queue", "--wait", "0.1", code=8)
        assert (told["why"]["cause"], told["why"]["job"]) == ("owner busy", job)
        assert told["owner"]["lane"] == "amelia/scott"
        home.said("interrupt", "amelia/scott")
        home.until(job, JobState.PREEMPTED)


def test_one_who_waits_is_told_when_the_job_still_runs(home: Home) -> None:
    with home.worker(*SLEEP):
        home.until(home.submitted("amelia/scott", "600 long", "--id", "1"), JobState.RUNNING)
        said = home.said("submit", "amelia/scott", "600 long", "--id", "1", "--wait", "0.1", code=7)
    assert "still running after 0.1 s: " in said


def test_each_end_of_a_job_has_its_own_exit_code(home: Home) -> None:
    script = 'read -r code; echo "as asked"; exit "$code"'
    with home.worker("--", "sh", "-c", script):
        assert home.said("submit", "a/b", "0", "--wait", "60", code=0).endswith(": as asked\n")
        failed = home.said("submit", "a/b", "3", "--wait", "60", code=1)
        assert failed.endswith(": sh ended with exit code 3: as asked\n")
        dead = home.said("submit", "a/b", "75", "--wait", "60", code=6)
    assert "dead after" in dead
    assert [job.attempt for job in home.jobs(JobState.DEAD)] == [2]


def test_a_newer_job_interrupts_the_running_one(home: Home) -> None:
    with home.worker(*SLEEP):
        with home.started("submit", "amelia/scott", "600 all of it", "--wait", "60", "--json") as first:
            wait_until(lambda: bool(home.jobs(JobState.RUNNING)))
            second = home.json("submit", "amelia/scott", "0 only the title", "--wait", "60")
            code, out, _ = ended(first)
        stopped = json.loads(out)
    assert code == 5
    assert stopped["result"]["state"] == "preempted"
    assert stopped["result"]["interrupted_by"] == second["job"]
    assert second["interrupts"] == stopped["job"]
    assert second["result"]["state"] == "done"
    assert second["result"]["started_at"] >= stopped["result"]["finished_at"]


def test_two_workers_serve_two_lanes_at_the_same_time(home: Home) -> None:
    with home.worker(*SLEEP, "--slots", "1"), home.worker(*SLEEP, "--slots", "1"):
        for lane in ("amelia/scott", "bakery/john"):
            home.until(home.submitted(lane, "600 x"), JobState.RUNNING)
        running = home.jobs(JobState.RUNNING)
    assert len(running) == 2
    assert running[0].worker != running[1].worker


def test_sigterm_hands_a_running_job_back_without_counting_the_attempt(home: Home) -> None:
    with home.worker(*SLEEP) as worker:
        job = home.submitted("amelia/scott", "600 x")
        home.until(job, JobState.RUNNING)
        worker.send_signal(signal.SIGTERM)
        code, _, log = ended(worker)
    assert code == 0, log
    back = home.job(job)
    assert (back.state, back.attempt, back.note) == (JobState.QUEUED, 0, "the worker is shutting down")
    (lane,) = home.json("lanes")
    assert (lane["worker"], lane["why"]["cause"]) == (None, "no worker")
    assert home.workers() == []


def test_a_second_signal_ends_a_worker_at_once_and_its_programs_with_it(home: Home, tmp_path: Path) -> None:
    pid_file = tmp_path / "pid"
    home.folder.joinpath("webordinary.toml").write_text("[limits]\ndrain_grace_seconds = 600\n")
    with home.worker("--", "sh", "-c", f'trap "" TERM; echo $$ > {pid_file}; sleep 600; sleep 600') as worker:
        home.submitted("amelia/scott", "x")
        wait_until(lambda: pid_file.exists() and pid_file.read_text().strip() != "")
        worker.send_signal(signal.SIGINT)
        wait_until(lambda: any(one.draining for one in home.workers()))
        worker.send_signal(signal.SIGTERM)
        code, _, log = ended(worker)
    assert code == 128 + signal.SIGTERM, log
    wait_until(lambda: not alive(int(pid_file.read_text())))


def test_a_worker_tied_to_a_lane_leaves_the_others_alone(home: Home) -> None:
    with home.worker("--only", "amelia/scott"):
        other = home.submitted("bakery/john", "x")
        home.said("submit", "amelia/scott", "x", "--wait", "60")
        assert home.job(other).state is JobState.QUEUED


def test_a_worker_that_has_nothing_to_do_can_scale_to_zero(home: Home) -> None:
    jobs = [home.submitted(lane, "0.2 x") for lane in ("a/b", "a/c", "a/d")]
    home.said("worker", *SLEEP, "--slots", "1", "--exit-when-idle", "0.5")
    assert {home.job(job).state for job in jobs} == {JobState.DONE}


def test_a_worker_leaves_with_whoever_started_it(home: Home) -> None:
    with home.worker("--until-stdin-closes") as worker:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.stdin = None
        code, _, log = ended(worker)
    assert code == 0
    assert "whoever started this worker is gone" in log


def test_a_worker_logs_an_event_a_line_for_people_or_for_machines(home: Home) -> None:
    job = home.submitted("amelia/scott", "x")
    log = home.run("worker", *ECHO, "--exit-when-idle", "0.1").stderr.splitlines()
    assert any(f"amelia/scott: job {job} done after" in line for line in log)
    home.submitted("amelia/scott", "y")
    lines = [
        json.loads(line)
        for line in home.run("worker", *ECHO, "--exit-when-idle", "0.1", "--json").stderr.splitlines()
    ]
    assert {"at", "level", "from", "message"} <= set(lines[0])
    assert [line["lane"] for line in lines if line.get("job")] == ["amelia/scott"] * 2


def test_workers_have_a_new_name_at_every_start(home: Home) -> None:
    names = set()
    for _ in range(2):
        home.submitted("amelia/scott", "x")
        home.said("worker", *ECHO, "--exit-when-idle", "0.1")
        names.add(home.jobs()[0].worker)
    assert len(names) == 2


def test_the_same_message_id_twice_is_one_job(home: Home) -> None:
    first = home.json("submit", "amelia/scott", "x", "--id", "<1@mail>")
    again = home.json("submit", "amelia/scott", "x", "--id", "<1@mail>")
    assert (first["duplicate"], again["duplicate"]) == (False, True)
    assert again["job"] == first["job"]
    assert "already has this message id" in home.said("submit", "amelia/scott", "x", "--id", "<1@mail>")
    assert len(home.jobs()) == 1


def test_an_instruction_can_come_from_standard_input(home: Home) -> None:
    home.said("submit", "amelia/scott", "-", stdin="grüße\nin two lines")
    assert home.jobs()[0].instruction == "grüße\nin two lines"


def test_a_job_can_replace_what_has_not_started(home: Home) -> None:
    old = home.submitted("amelia/scott", "x")
    home.submitted("amelia/scott", "y", "--policy", "replace-pending")
    assert home.job(old).state is JobState.PREEMPTED


def test_dead_jobs_can_be_shown_redriven_and_dropped(home: Home) -> None:
    fails = ("worker", "--exit-when-idle", "0.4", "--", "sh", "-c", "echo not today; exit 75")
    first, second = home.submitted("amelia/scott", "x"), home.submitted("bakery/john", "y")
    home.said(*fails)
    assert {job["id"] for job in home.json("dead", "list")} == {first, second}
    assert "asked to be tried again: not today" in home.said("dead", "show", first)
    assert home.json("dead", "redrive", first)["jobs"] == [first]
    assert home.job(first).state is JobState.QUEUED
    assert "is dropped" in home.said("dead", "drop", "--all")
    assert home.job(second).state is JobState.DROPPED
    home.said("dead", "drop", "--all", code=1)
    home.said("worker", *ECHO, "--exit-when-idle", "0.2")
    assert home.job(first).state is JobState.DONE


def test_a_lane_can_be_taken_from_its_owner(home: Home) -> None:
    hangs_once = '[ "$WEBORDINARY_ATTEMPT" != 1 ] || sleep 600'
    with home.worker("--", "sh", "-c", hangs_once):
        job = home.submitted("amelia/scott", "x")
        home.until(job, JobState.RUNNING)
        assert home.json("release", "amelia/scott")["released"] is True
        assert home.until(job, JobState.DONE).attempt == 2
        history = [event["what"] for event in home.json("job", job)["history"]]
    assert "released by the operator" in history
    assert "was taken from" in home.said(
        "release", "amelia/scott"
    )  # its worker was killed and still holds it
    assert "nobody held amelia/scott" in home.said("release", "amelia/scott", code=1)


def test_the_timeline_of_a_job_tells_its_story(home: Home) -> None:
    job = home.submitted("amelia/scott", "x")
    home.said("worker", *ECHO, "--exit-when-idle", "0.1")
    said = home.said("job", job[:14])
    moments = [line.split("ago")[-1].strip() for line in said.splitlines() if " ago " in line]
    assert moments[0] == "submitted"
    assert moments[1].startswith("lane claimed by")
    assert moments[-1] == "done"


@pytest.mark.skipif(not Path("/proc").exists(), reason="reads memory use from /proc")
def test_an_idle_worker_is_small(home: Home) -> None:
    """A pool is warm because it can afford to be."""
    with home.worker() as worker:
        status = Path(f"/proc/{worker.pid}/status").read_text()
    kilobytes = int(next(line for line in status.splitlines() if line.startswith("VmRSS")).split()[1])
    assert kilobytes < 45_000


def test_a_job_may_submit_jobs_itself(home: Home) -> None:
    """What its program is told about the job is not taken for settings."""
    command = f"{sys.executable} -m webordinary submit bakery/john again --home {home.folder}"
    home.submitted("amelia/scott", "x")
    home.run("worker", "--exit-when-idle", "0.5", "--only", "amelia/scott", "--", "sh", "-c", command)
    assert [str(job.lane) for job in home.jobs(JobState.QUEUED)] == ["bakery/john"]


def test_two_processes_may_open_a_new_home_at_once(tmp_path: Path) -> None:
    home = Home(tmp_path / "new")
    with home.started("submit", "a/b", "x") as one, home.started("submit", "a/c", "x") as other:
        assert (ended(one)[0], ended(other)[0]) == (0, 0)
    assert len(home.jobs()) == 2
