"""One worker serves one site after another: of the first, nothing is there for the agent of the second."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs import needs
from tests.sites.system import JOHN, SCOTT, Reply, System, git

SECRET = "SECRET-OF-ALPHA"
WORKERS_SECRET = "SECRET-OF-THE-WORKER"

LEAVE_TRACES = f"""
echo {SECRET} > notes.html
mkdir -p $HOME/.config/git
echo '[user] name = {SECRET}' > $HOME/.gitconfig
echo {SECRET} > $HOME/.profile
echo {SECRET} > /tmp/left-behind
cp notes.html /dev/shm/left-behind
git config --global user.email {SECRET}@example.com
exit 0
"""
LOOK_AROUND = """
(
echo site: $(ls -A /site)
echo mail: $(ls -A /mail)
echo home: $(ls -A $HOME)
echo temporary: $(ls -A /tmp /dev/shm)
echo environment: $(env | sort)
echo git: $(git config --list 2>&1)
echo worker: $(ls -A {home} 2>&1)
echo processes: $(cat /proc/[0-9]*/cmdline /proc/[0-9]*/environ 2>&1 | tr '\\0' ' ')
echo found: $(grep -rls SECRET-OF / --exclude-dir=proc --exclude-dir=sys --exclude-dir=usr)
) > /tmp/report
cp /tmp/report report.html
exit 0
"""


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    """The agent is a shell that runs the mail; there is one worker with room for one lane."""
    needs("bwrap")
    system = System(
        tmp_path / "home",
        WEBORDINARY_WORK_AGENT="command",
        WEBORDINARY_WORK_COMMAND="sh",
        WEBORDINARY_TEST_SECRET=WORKERS_SECRET,
        ANTHROPIC_API_KEY=WORKERS_SECRET,
        GIT_AUTHOR_NAME=WORKERS_SECRET,
    )
    system.said("onboard", "alpha", "--user", "scott", "--sender", SCOTT)
    system.said("onboard", "beta", "--user", "john", "--sender", JOHN)
    with system.web(), system.gateway(), system.worker("--handler", "site", "--slots", "1", "--json"):
        yield system


def test_the_next_site_sees_nothing_of_the_one_before(system: System) -> None:
    look_around = LOOK_AROUND.format(home=system.folder)
    first = assert_done(system.ask_by_mail(LEAVE_TRACES, sender=SCOTT))
    assert system.page("alpha/notes.html").text.strip() == SECRET

    assert_done(system.ask_by_mail(look_around, sender=JOHN))
    report = told(system, "beta/report.html")
    assert "index.html" in report["site"]
    assert "notes.html" not in report["site"]
    for empty in ("mail", "home", "found"):
        assert report[empty] == ""
    for where, what in report.items():
        for trace in ("SECRET", "alpha", "left-behind"):
            assert trace not in what, where
    assert str(system.folder) not in report["environment"]
    assert "No such file" in report["worker"]
    history = git("log", "--all", "--format=%an %ae %cn %ce %B", folder=repository(system, "beta"))
    assert JOHN in history
    for other in ("SECRET", SCOTT, "alpha"):
        assert other not in history

    assert_done(system.ask_by_mail(look_around, answers=first.message_id, sender=SCOTT))
    own = told(system, "alpha/report.html")  # its own files are there again, but nothing beside them
    assert "notes.html" in own["site"]
    assert own["found"] == "/site/notes.html"
    assert own["home"] == ""
    workers = {job.worker for job in system.jobs()}
    assert len(workers) == 1


def assert_done(reply: Reply) -> Reply:
    assert reply.kind == "done", reply.text
    return reply


def told(system: System, page: str) -> dict[str, str]:
    """What the agent saw: by the kind of thing."""
    lines = [line.partition(":") for line in system.page(page).text.splitlines()]
    return {name: what.strip() for name, _, what in lines}


def repository(system: System, project: str) -> Path:
    return system.folder / "repositories" / f"{project}.git"
