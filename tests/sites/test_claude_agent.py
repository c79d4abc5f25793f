"""The real Claude Code in its sandbox, edited with by mail; the model behind it is scripted, on loopback."""

from __future__ import annotations

import contextlib
import os
import signal
import statistics
import subprocess
import time
from collections.abc import Iterator

import pytest

from tests.agents.conftest import needs_claude
from tests.agents.model_server import Hold, ModelServer, Refuse, Reply, Request, Say, Use
from tests.integration.cli_support import ended
from tests.needs import needs
from tests.processes import none_alive, program_of, sandboxed, words_of
from tests.sites.system import SETTINGS, Sent, System
from tests.waiting import wait_until

RUNS = 20
PAGE = "/site/index.html"
FEW_TRIES = SETTINGS.replace("deliveries_max = 3", "deliveries_max = 2")
MANY_MAILS = "\n[mail]\nsender_burst = 1000\nproject_burst = 1000\n"


def scripted(request: Request) -> Reply:
    """What the model does about an instruction: its first line says it."""
    instruction = request.typed.partition("\n")[0]
    word, _, rest = instruction.partition(" ")
    steps: list[Reply]
    match word:
        case "Retitle":
            old, _, new = rest.partition(" to ")
            edit = {"file_path": PAGE, "old_string": f"<title>{old}<", "new_string": f"<title>{new}<"}
            steps = [Use("Read", {"file_path": PAGE}), Use("Edit", edit), Say(f"The title is now {new}.")]
        case "Sleep":
            half = {"file_path": "/site/half.html", "content": f"half of {rest}"}
            deaf = f"setsid sleep {rest} & trap '' TERM INT HUP; sleep {rest}; sleep {rest}"
            steps = [Use("Write", half, "I begin."), Use("Bash", {"command": deaf})]
        case "Spend":
            steps = [Use("Bash", {"command": f"echo {step}"}, tokens=1_000_000) for step in range(50)]
        case _:
            steps = [Say("All right.")]
    return steps[request.round] if request.round < len(steps) else Say("Done.")


class Model:
    """A model that follows the script, but for what it is told to do first."""

    def __init__(self) -> None:
        self.first: dict[str, list[Reply]] = {}  # by a word of the instruction

    def __call__(self, request: Request) -> Reply:
        for word, replies in self.first.items():
            if word in request.typed and replies:
                return replies.pop(0)
        return scripted(request)


class ClaudeSystem(System):
    """A system whose workers run Claude Code. Each test has a site, and a member, of its own."""

    model: Model
    server: ModelServer

    def site_of(self, project: str) -> str:
        """Onboard somebody with a site of our own making; give the address."""
        address = f"{project}@example.com"
        self.said("onboard", project, "--user", "owner", "--sender", address)
        return address

    @contextlib.contextmanager
    def also(self, **environment: str) -> Iterator[None]:
        """Give processes that start meanwhile these settings, too."""
        before = self.environment
        self.environment = before | environment
        try:
            yield
        finally:
            self.environment = before

    @contextlib.contextmanager
    def serving(self, project: str) -> Iterator[subprocess.Popen[str]]:
        with self.worker("--handler", "site", "--only", f"{project}/owner", "--json") as worker:
            yield worker

    def prompts(self, word: str) -> list[Request]:
        """The turns of the conversation in which somebody typed this."""
        return [turn for turn in self.server.turns if word in turn.typed]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ClaudeSystem]:
    needs("bwrap")
    needs_claude()
    model = Model()
    with ModelServer(model) as server:
        system = ClaudeSystem(
            tmp_path_factory.mktemp("claude") / "home",
            FEW_TRIES + MANY_MAILS,
            ANTHROPIC_API_KEY="test-key",
            WEBORDINARY_WORK_AGENT="claude",
            WEBORDINARY_WORK_MODEL_URL=server.base_url,
        )
        system.model, system.server = model, server
        with system.web(), system.gateway():
            yield system


def test_a_second_mail_is_served_by_another_worker_that_knows_what_was_said(system: ClaudeSystem) -> None:
    sender = system.site_of("garden")
    with system.serving("garden") as first:
        reply = system.ask_by_mail("Retitle Your new site to Spring Sale", sender=sender)
        assert reply.kind == "done", reply.text
        for words in ("The title on your home page", "“Spring Sale”", f"{system.site_port}/garden/"):
            assert words in reply.text
        assert "<title>Spring Sale</title>" in system.page("garden/").text
        first.send_signal(signal.SIGTERM)
        assert ended(first)[0] == 0
    with system.serving("garden") as second:
        assert second.pid != first.pid
        answer = system.ask_by_mail(
            "Retitle Spring Sale to Summer Sale", answers=reply.message_id, sender=sender
        )
        assert answer.kind == "done", answer.text
        assert "<title>Summer Sale</title>" in system.page("garden/").text
    (turn, *_) = system.prompts("Retitle Spring Sale to Summer Sale")
    said = [message for message in turn.body["messages"] if message["role"] == "assistant"]
    assert "The title is now Spring Sale." in str(said)
    assert "Retitle Your new site to Spring Sale" in turn.everything
    assert {turn.headers["x-api-key"] for turn in system.server.turns} == {"test-key"}


def test_a_newer_mail_ends_the_running_agent_at_once(system: ClaudeSystem) -> None:
    """Measured from the newer mail's 250 until no process of the older one's agent is left."""
    sender = system.site_of("nursery")
    took: list[float] = []
    with system.serving("nursery") as worker:
        before, family = asleep(system, worker.pid, sender, 0)
        for number in range(1, RUNS + 1):
            newer = system.send(f"Sleep {naps(number)}", answers=before.message_id, sender=sender)
            while not none_alive(family):
                time.sleep(0.005)
            took.append(time.monotonic() - newer.at)
            if number == 1:
                assert_told_what_was_kept(system, before)
            before, family = newer, family_asleep(worker.pid, number)
        last = system.ask_by_mail("Just stop sleeping, please", answers=before.message_id, sender=sender)
        assert last.kind == "done"
    (prompt, *_) = system.prompts("Just stop sleeping")
    assert f"Sleep {naps(RUNS)}" in prompt.typed  # what was left unfinished
    assert "unfinished.patch" in prompt.typed
    assert system.page("nursery/half.html").status_code == 404
    ordered = sorted(took)
    p95 = statistics.quantiles(ordered, n=20)[-1]
    print(f"\nfrom 250 to no process, {RUNS} runs: p50 {statistics.median(took):.3f} s, p95 {p95:.3f} s")


def naps(number: int) -> str:
    """How long a run sleeps: a number that no other process of this machine has in its command line."""
    return f"60.{os.getpid()}{number:02}"


def asleep(system: ClaudeSystem, worker: int, sender: str, number: int) -> tuple[Sent, list[int]]:
    sent = system.send(f"Sleep {naps(number)}", sender=sender)
    return sent, family_asleep(worker, number)


def family_asleep(worker: int, number: int) -> list[int]:
    """Wait until the agent's own program sleeps; give all processes of its sandbox."""
    nap = naps(number).encode()
    wait_until(lambda: any(words_of(pid)[:2] == [b"sleep", nap] for pid in sandboxed(worker)))
    return sandboxed(worker)


def assert_told_what_was_kept(system: ClaudeSystem, interrupted: Sent) -> None:
    reply = system.reply(interrupted)
    assert reply.kind == "preempted", reply.text
    assert f"Sleep {naps(1)}" in reply.text  # in favour of what
    assert "Both are carried out together" in reply.text


def test_a_model_that_fails_for_long_is_told_in_plain_words(system: ClaudeSystem) -> None:
    sender = system.site_of("broken")
    system.model.first["broken"] = [Refuse(500)] * 1000
    with system.serving("broken"):
        reply = system.ask_by_mail("Please mend the broken page", sender=sender)
    assert reply.kind == "dead", reply.text
    assert "could not be reached, also when asked again" in reply.text
    assert "I tried it 2 times" in reply.text
    assert "500" not in reply.text


@pytest.mark.parametrize("trouble", [Refuse(429), Hold()], ids=["busy", "stalled"])
def test_a_job_is_tried_again_when_the_model_was_away(system: ClaudeSystem, trouble: Reply) -> None:
    """Claude Code asks three times by itself before it gives up; a stall is ours to notice."""
    project = "busy" if isinstance(trouble, Refuse) else "stalled"
    sender = system.site_of(project)
    system.model.first[project] = [trouble] * 3 if isinstance(trouble, Refuse) else [trouble]
    with system.also(WEBORDINARY_WORK_QUIET_SECONDS="8"), system.serving(project):
        reply = system.ask_by_mail(f"Retitle Your new site to Not {project}", sender=sender)
    assert reply.kind == "done", reply.text
    assert f"<title>Not {project}</title>" in system.page(f"{project}/").text
    assert [job.attempt for job in system.jobs() if job.lane.project == project] == [2]


def test_a_job_is_tried_again_when_its_agent_was_killed(system: ClaudeSystem) -> None:
    sender, number = system.site_of("killed"), RUNS + 1
    system.model.first["Mend"] = [Use("Bash", {"command": f"true; sleep {naps(number)}; true"})]
    with system.serving("killed") as worker:
        sent = system.send("Mend the killed page", sender=sender)
        family = family_asleep(worker.pid, number)
        (program,) = [pid for pid in family if program_of(pid) == "claude"]
        os.kill(program, signal.SIGKILL)
        wait_until(lambda: none_alive(family))
        reply = system.reply(sent)
    assert reply.kind == "done", reply.text
    assert "All right." in reply.text


def test_a_job_that_costs_too_much_is_stopped_and_told_so(system: ClaudeSystem) -> None:
    sender = system.site_of("dear")
    with system.serving("dear"):
        reply = system.ask_by_mail("Spend all you have", sender=sender)
    assert reply.kind == "failed", reply.text
    assert "too large for one request" in reply.text
    assert len(system.prompts("Spend all")) < 5
