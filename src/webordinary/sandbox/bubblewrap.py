"""The sandbox proper: bubblewrap, with namespaces of its own for everything the kernel has one for."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from webordinary.core.work import Room
from webordinary.sandbox.allowance import Allowance
from webordinary.sandbox.programs import SYSTEM_PATH, find_program, own_python
from webordinary.sandbox.sandbox import Seen, Wrapped

TREE, MAIL, HOME, SOCKET = "/site", "/mail", "/home/agent", "/run/model.sock"

RELAY_INSIDE = "/run/relay.py"

RELAY = Path(__file__).with_name("relay.py")
STUB = Path(__file__).with_name("stub")  # an /etc that tells nothing about this machine

NICENESS = "5"  # whoever keeps the limits goes first
OPEN_FILES = 4096

NAMESPACES = (
    *("--unshare-all", "--unshare-user", "--disable-userns", "--die-with-parent", "--new-session"),
    *(
        "--as-pid-1",
        "--cap-drop",
        "ALL",
        "--uid",
        "1000",
        "--gid",
        "1000",
        "--hostname",
        "site",
        "--clearenv",
    ),
)
ROOT_FOLDERS = ("/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32")  # links into /usr on most systems
ETC = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "alternatives", "localtime", "timezone", "mime.types"),
    *("ssl/certs", "ssl/openssl.cnf", "ca-certificates", "pki/tls/certs", "pki/ca-trust", "java-security"),
)
ETC_ON_THE_NET = ("resolv.conf", "nsswitch.conf", "gai.conf")

# A worker that runs as root owns the files below /proc/sys, capabilities or not: without this, a sandboxed
# program could set the host's kernel.core_pattern. bubblewrap overlooks it, for the folder is read-only.
PROC_READ_ONLY = ("/proc/sys", "/proc/pressure")
PROC_HIDDEN = (
    "/proc/kcore",
    "/proc/keys",
    "/proc/kallsyms",
    "/proc/kmsg",
    "/proc/timer_list",
    "/proc/slabinfo",
)


class Bubblewrap:
    """See `Sandbox`. Made anew for each command: nothing of one run is there in the next but the room."""

    confines = True

    def __init__(self, also_visible: Sequence[Path] = (), program: str = "bwrap") -> None:
        """Show `also_visible` read-only in every run, and find programs in their `bin` folders."""
        self._also_visible, self._program = tuple(also_visible), program

    def seen(self, room: Room) -> Seen:  # noqa: ARG002 - the same in every room
        """See `Sandbox.seen`."""
        return Seen(Path(TREE), Path(MAIL), Path(HOME))

    def wrap(
        self,
        command: Sequence[str],
        room: Room,
        *,
        environment: Mapping[str, str],
        allowance: Allowance,
        visible: Sequence[Path] = (),
        socket: Path | None = None,
        network: bool = False,
    ) -> Wrapped:
        """See `Sandbox.wrap`."""
        program = find_program(command[0])
        shown = [*self._also_visible, *visible, *program.needs]
        inner = [program.path, *command[1:]]
        if socket is not None:
            python = own_python()
            shown += python.needs
            inner = [python.path, "-I", "-S", RELAY_INSIDE, SOCKET, "--", *inner]
        flags = [
            *NAMESPACES,
            *(("--share-net",) if network else ()),
            *_system(network=network),
            *_fresh(allowance),
            *_read_only(shown),
            *(*("--bind", str(room.tree), TREE), *("--ro-bind", str(room.mail), MAIL)),
            *("--bind", str(room.home), HOME),
            *(_way_out(socket) if socket is not None else ()),
            *(*("--remount-ro", "/"), *("--chdir", TREE)),
            *_environment(self._folders_of_programs(), environment),
        ]
        first = ("/bin/sh", "-c", first_process(allowance), "sh", *inner)
        # `env -i`, for the environment that bubblewrap itself was started with can be read from inside.
        outer = ("/usr/bin/env", "-i", "/usr/bin/nice", "-n", NICENESS, find_program(self._program).path)
        return Wrapped((*outer, *flags, "--", *first), self.seen(room), room)

    def _folders_of_programs(self) -> Iterable[str]:
        yield from SYSTEM_PATH
        for path in self._also_visible:
            if (path / "bin").is_dir():
                yield str(path / "bin")


def first_process(allowance: Allowance) -> str:
    """A shell as the first process of its namespace: once it ends, the kernel ends all others first.

    The limits are set in here, because every user namespace counts its processes by itself. The count does
    not hold for a worker that runs as root, whom the kernel exempts: for that one the watchdog counts.
    """
    limits = f"--core=0 --fsize={allowance.file_bytes} --nproc={allowance.processes} --nofile={OPEN_FILES}"
    return f'prlimit {limits} -- "$@"; exit $?'


def _system(*, network: bool) -> Iterable[str]:
    """Programs and libraries, and of /etc what they can't do without. Never /etc/ssl/private."""
    yield from ("--ro-bind", "/usr", "/usr")
    for folder in ROOT_FOLDERS:
        if Path(folder).is_symlink():
            yield from ("--symlink", os.readlink(folder), folder)  # noqa: PTH115 - as it is written
        elif Path(folder).is_dir():
            yield from ("--ro-bind", folder, folder)
    for name in ("passwd", "group", "hosts"):
        yield from ("--ro-bind", str(STUB / name), f"/etc/{name}")
    for name in (*ETC, *(ETC_ON_THE_NET if network else ())):
        yield from ("--ro-bind-try", f"/etc/{name}", f"/etc/{name}")


def _fresh(allowance: Allowance) -> Iterable[str]:
    """Own processes, own devices, own temporary files of a bounded size."""
    yield from ("--proc", "/proc")
    for path in filter(os.path.exists, PROC_READ_ONLY):
        yield from ("--ro-bind", path, path)
    for path in filter(os.path.exists, PROC_HIDDEN):
        yield from ("--ro-bind", "/dev/null", path)
    size = str(allowance.temporary_bytes)
    yield from ("--dev", "/dev", "--size", size, "--tmpfs", "/dev/shm", "--remount-ro", "/dev")  # noqa: S108
    yield from ("--size", size, "--perms", "1777", "--tmpfs", "/tmp")  # noqa: S108 - inside, it is nobody else's


def _read_only(paths: Iterable[Path]) -> Iterable[str]:
    """Folders, and what lies in none of them."""
    shown: list[Path] = []
    for path in sorted(set(paths)):
        if not any(path.is_relative_to(folder) for folder in shown):
            shown.append(path)
            yield from ("--ro-bind", str(path), str(path))


def _way_out(socket: Path) -> Iterable[str]:
    yield from ("--ro-bind", str(RELAY), RELAY_INSIDE, "--bind", str(socket), SOCKET)


def _environment(folders: Iterable[str], given: Mapping[str, str]) -> Iterable[str]:
    own = {"PATH": ":".join(folders), "HOME": HOME, "TMPDIR": "/tmp", "LANG": "C.UTF-8"}  # noqa: S108
    for name, value in (own | dict(given)).items():
        yield from ("--setenv", name, value)
