"""Choosing the sandbox by its setting, and making sure before any work that it holds."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path

from webordinary.core.errors import BadInput, NotFound
from webordinary.core.work import Room
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.sandbox import RunLimits, Sandbox, SandboxUnavailable
from webordinary.sandbox.unconfined import Unconfined

CONFINED, UNCONFINED = "bubblewrap", "off-i-trust-every-sender"
PROBE_SECONDS = 30.0

# What keeps programs from making namespaces, the value that does, and what to do about it.
OBSTACLES = (
    ("kernel/unprivileged_userns_clone", "0", "sysctl -w kernel.unprivileged_userns_clone=1"),
    ("user/max_user_namespaces", "0", "sysctl -w user.max_user_namespaces=15000"),
    (
        "kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "sysctl -w kernel.apparmor_restrict_unprivileged_userns=0 (or an AppArmor profile for bwrap)",
    ),
)


def choose_sandbox(setting: str, also_visible: Sequence[Path] = ()) -> Sandbox:
    """Give the sandbox that a setting names. `probe` it before use."""
    if setting == CONFINED:
        return Bubblewrap(also_visible)
    if setting == UNCONFINED:
        return Unconfined()
    raise BadInput(f"there is no sandbox {setting!r}: it is {CONFINED!r}, or {UNCONFINED!r} for none")


def probe(sandbox: Sandbox) -> None:
    """Run something harmless in it. Raises `SandboxUnavailable`, which says what to do; takes some 50 ms."""
    if not Path(f"/proc/self/task/{os.getpid()}/children").exists():
        raise _unavailable(
            "this kernel does not tell a process's children (CONFIG_PROC_CHILDREN)", "Linux is needed"
        )
    with tempfile.TemporaryDirectory(prefix="webordinary-probe-") as folder:
        room = Room(Path(folder, "tree"), Path(folder, "mail"), Path(folder, "home"))
        for path in (room.tree, room.mail, room.home):
            path.mkdir()
        try:
            wrapped = sandbox.wrap(["true"], room, environment={}, run_limits=RunLimits())
        except NotFound as error:
            raise _unavailable(str(error), "install it: apt install bubblewrap") from error
        try:
            ran = subprocess.run(  # noqa: S603 - our own command line
                wrapped.command, capture_output=True, text=True, timeout=PROBE_SECONDS, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            raise _unavailable(str(error), _remedy()) from error
    if ran.returncode != 0:
        raise _unavailable(ran.stderr.strip()[-500:] or f"exit code {ran.returncode}", _remedy())


def _unavailable(problem: str, remedy: str) -> SandboxUnavailable:
    return SandboxUnavailable(
        f"the sandbox can't be set up: {problem}. Nothing was run. To do: {remedy}. "
        f"Or set sandbox = {UNCONFINED!r}, and every sender can do on this machine what the worker can."
    )


def _remedy() -> str:
    for name, value, remedy in OBSTACLES:
        path = Path("/proc/sys", name)
        if path.exists() and path.read_text().strip() == value:
            return f"allow user namespaces: {remedy}"
    return (
        "bubblewrap 0.8 or newer and util-linux are needed (apt install bubblewrap util-linux); in a "
        "container, namespaces must be allowed (docker run --security-opt seccomp=unconfined "
        "--security-opt apparmor=unconfined --security-opt systempaths=unconfined)"
    )
