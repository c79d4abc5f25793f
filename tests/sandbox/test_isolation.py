"""Hostile agents in the sandbox. Each really tries, and tells what it got."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import textwrap
import uuid
from pathlib import Path

import pytest

from tests.processes import processes_with
from tests.sandbox.rooms import (
    errand,
    make_room,
    run_script,
    script,
)
from tests.waiting import HANG_SECONDS, until
from webordinary.agents.command import CommandAgent
from webordinary.core.work import Room, Stopped, Worked
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.probe import CONFINED, UNCONFINED
from webordinary.sandbox.sandbox import Sandbox
from webordinary.sandbox.unconfined import Unconfined

SECRET = "hunter2-of-the-worker"


def marker() -> str:
    """A word that only one run's processes have on their command line."""
    return f"marker-{uuid.uuid4().hex}"


# --- what can be read -------------------------------------------------------------------------------------


async def test_the_agent_reads_and_changes_its_own_site(room: Room) -> None:
    """The counter-check: without it, a sandbox in which nothing runs would pass every other test."""
    told = await run_script(room, "cat index.html /mail/photo.txt; cat >note; echo hi > index.html; pwd")
    assert isinstance(told.result, Worked)
    assert "<h1>Hello</h1>\na photo\n/site" in told.text
    assert (room.tree / "index.html").read_text() == "hi\n"
    assert (room.tree / "note").read_text() == "change the title"


async def test_another_projects_files_cannot_be_read(room: Room, tmp_path: Path) -> None:
    other = make_room(tmp_path / "other")
    (other.tree / "secret.html").write_text(SECRET)
    told = await run_script(
        room,
        f"""
        cat {other.tree}/secret.html; ls {tmp_path}; ls -R {tmp_path}/other; cat ../other/tree/secret.html
        ln -s {other.tree}/secret.html link; cat link
        for root in /proc/*/root /proc/*/cwd; do cat $root/{other.tree}/secret.html; done
        find / -xdev -name secret.html 2>/dev/null
        echo tried
        """,
    )
    assert "tried" in told.text
    assert SECRET not in told.text
    assert not [line for line in told.text.splitlines() if line.endswith("secret.html") and ":" not in line]


async def test_the_workers_environment_cannot_be_read(room: Room, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even from bubblewrap, which is started by the worker: its environment is empty, too."""
    monkeypatch.setenv("WORKER_SECRET", SECRET)
    told = await run_script(
        room, "env; cat /proc/1/environ /proc/$PPID/environ /proc/*/environ /proc/*/cmdline | tr '\\0' '\\n'"
    )
    assert "WEBORDINARY_JOB=j1" in told.text
    assert SECRET not in told.text
    assert str(room.tree) not in told.text


async def test_homes_and_the_systems_secrets_are_not_there(room: Room) -> None:
    told = await run_script(
        room,
        "for path in /root /home /etc/shadow /etc/ssl/private /etc/hostname /var /srv /opt /boot /sys /run;"
        ' do echo "$path:" $(ls -A $path 2>/dev/null); done; cat /etc/passwd; hostname; ls -A ~',
    )
    seen = dict(line.split(":", 1) for line in told.text.splitlines() if line.startswith("/"))
    assert seen.pop("/home").strip() == "agent"
    assert {path: what.strip() for path, what in seen.items() if what.strip()} == {}
    assert "agent:x:1000:" in told.text
    assert "root:x:" not in told.text
    assert "\nsite" in told.text


async def test_other_processes_cannot_be_seen(room: Room) -> None:
    told = await run_script(room, "ls -d /proc/[0-9]* | wc -l")
    assert int(told.text) < 10


# --- what can be written ----------------------------------------------------------------------------------


async def test_nothing_outside_the_tree_and_the_home_can_be_written(room: Room) -> None:
    told = await run_script(
        room,
        """
        for path in / /usr /usr/bin /etc /mail /home /root /run /dev /proc /proc/sys/kernel /var; do
          (echo x > $path/written) 2>/dev/null && echo "wrote $path"
        done
        (echo x > /etc/passwd) 2>/dev/null && echo "wrote passwd"
        (echo x > /mail/photo.txt) 2>/dev/null && echo "wrote mail"
        mount -o remount,rw / 2>/dev/null && echo remounted
        unshare -Ur true 2>/dev/null && echo "made a user namespace"
        for path in . ~ /tmp /dev/shm; do (echo x > $path/written) && echo "may $path"; done
        """,
    )
    assert told.text.splitlines() == ["may .", "may /home/agent", "may /tmp", "may /dev/shm"]
    assert (room.mail / "photo.txt").read_text() == "a photo\n"


async def test_no_setting_of_the_kernel_can_be_opened_for_writing(room: Room) -> None:
    """A worker that runs as root owns them: only a read-only mount keeps a run from `core_pattern`."""
    told = await run_script(
        room,
        textwrap.dedent("""
            import os
            for top, folders, files in os.walk("/proc"):
                if top == "/proc":
                    folders[:] = [name for name in folders if not name.isdigit() and "self" not in name]
                for path in (os.path.join(top, name) for name in files):
                    try:
                        os.close(os.open(path, os.O_WRONLY | os.O_NONBLOCK))
                    except OSError:
                        continue
                    if os.stat(path).st_rdev != os.stat("/dev/null").st_rdev:
                        print("opened", path)
            print("tried")
        """),
        interpreter="/usr/bin/python3",
    )
    assert told.text.splitlines() == ["tried"]


async def test_a_link_out_of_the_tree_is_only_a_link(room: Room) -> None:
    await run_script(room, "mkdir public && ln -s /etc/passwd public/index.html && cat public/index.html")
    assert (room.tree / "public" / "index.html").is_symlink()


# --- whom it can talk to ----------------------------------------------------------------------------------


async def test_a_listener_on_the_hosts_loopback_hears_nothing(room: Room) -> None:
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as abstract:
        name = f"webordinary-{uuid.uuid4().hex}"
        abstract.bind(f"\0{name}")
        abstract.listen()
        told = await run_script(
            room,
            textwrap.dedent(f"""
                import socket
                for family, address in (
                    (socket.AF_INET, ("127.0.0.1", {tcp.getsockname()[1]})),
                    (socket.AF_UNIX, "\\0{name}"),
                ):
                    try:
                        socket.socket(family).connect(address)
                        print("connected", address)
                    except OSError as error:
                        print("refused")
                print(sorted(name for _, name in socket.if_nameindex()))
            """),
            interpreter="/usr/bin/python3",
        )
        assert told.text.splitlines()[:2] == ["refused", "refused"]
        assert "eth" not in told.text
        for listener in (tcp, abstract):
            listener.setblocking(False)
            with pytest.raises(BlockingIOError):
                listener.accept()


async def test_killing_everybody_kills_only_itself(room: Room) -> None:
    bystander = subprocess.Popen(["sleep", "60"])
    try:
        told = await run_script(
            room, f"kill -9 {bystander.pid} {os.getpid()}; echo tried; kill -9 -1; echo alive"
        )
        assert "tried" in told.text
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


# --- what is left of it -----------------------------------------------------------------------------------


STAY = 'sh -c "trap : TERM HUP INT; sleep 1000; true" {mark}'


@pytest.mark.parametrize(
    "way",
    [
        f"{STAY} &",
        f"nohup {STAY} >/dev/null 2>&1 &",
        f"setsid {STAY} >/dev/null 2>&1 </dev/null &",
        f"( ( setsid {STAY} >/dev/null 2>&1 </dev/null & ) & )",
    ],
    ids=["background", "nohup", "setsid", "double fork"],
)
@pytest.mark.parametrize("sandbox", [Bubblewrap(), Unconfined()], ids=["bubblewrap", "unconfined"])
async def test_a_process_that_stays_behind_is_gone_when_the_run_is_over(
    room: Room, way: str, sandbox: Sandbox
) -> None:
    """Also without the sandbox: a lane's next job must not meet what the last one left running."""
    mark = marker()
    running = asyncio.ensure_future(
        run_script(
            room,
            way.format(mark=mark) + "\nwhile ! test -e go; do sleep 0.02; done; echo done",
            sandbox=sandbox,
        )
    )
    await until(lambda: processes_with(mark) != [])
    (room.tree / "go").touch()
    told = await running
    assert processes_with(mark) == []
    assert isinstance(told.result, Worked)


async def test_an_interrupted_script_that_ignores_it_is_killed(room: Room) -> None:
    mark = marker()
    program = script(room.tree.parent, f"trap '' TERM INT; touch ready; while :; do sleep 1; done # {mark}")
    agent = CommandAgent([str(program), mark], Bubblewrap(), grace_seconds=0.2)
    async with asyncio.timeout(HANG_SECONDS):
        run = await agent.start(errand(), room)
        await until((room.tree / "ready").exists)
        await run.interrupt()
        assert processes_with(mark) == []
        assert isinstance(await run.result(), Stopped)


async def test_a_cancelled_run_leaves_no_process(room: Room) -> None:
    mark = marker()
    agent = CommandAgent([str(script(room.tree.parent, "touch ready; sleep 1000")), mark], Bubblewrap())
    run = await agent.start(errand(), room)
    waiting = asyncio.ensure_future(run.result())
    await until((room.tree / "ready").exists)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert processes_with(mark) == []


@pytest.mark.parametrize("loops", range(6))
async def test_a_run_that_is_cancelled_while_it_starts_leaves_no_process(room: Room, loops: int) -> None:
    mark = marker()
    agent = CommandAgent([str(script(room.tree.parent, "sleep 1000")), mark], Bubblewrap())
    run = await agent.start(errand(), room)
    waiting = asyncio.ensure_future(run.result())
    await asyncio.sleep(loops * 0.003)
    waiting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert processes_with(mark) == []


WORKER = """
import asyncio, sys
from pathlib import Path
from tests.sandbox.rooms import errand
from webordinary.agents.command import CommandAgent
from webordinary.sandbox import choose_sandbox
from webordinary.core.work import Room

async def main(setting, program, mark, folder):
    room = Room(*(Path(folder, name) for name in ("tree", "mail", "home")))
    run = await CommandAgent([program, mark], choose_sandbox(setting)).start(errand(), room)
    await run.result()

asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize("setting", [CONFINED, UNCONFINED])
async def test_a_killed_worker_leaves_no_process_of_a_run(room: Room, setting: str) -> None:
    mark = marker()
    program = script(room.tree.parent, "trap '' TERM; setsid sleep 1000 & touch ready; sleep 1000; true")
    worker = subprocess.Popen(
        [sys.executable, "-c", WORKER, setting, str(program), mark, str(room.tree.parent)],
        env={"PYTHONPATH": "."},
    )
    try:
        await until((room.tree / "ready").exists)
        assert len(processes_with(mark)) > 1
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        await until(lambda: processes_with(mark) == [])
    finally:
        worker.kill()
        worker.wait()
