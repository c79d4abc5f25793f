"""The sandbox proper: bubblewrap, with namespaces of its own for everything the kernel has one for."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from webordinary.core.errors import NotFound
from webordinary.core.work import Room
from webordinary.sandbox.sandbox import RunLimits, VisiblePaths, Wrapped

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

    def seen(self, room: Room) -> VisiblePaths:  # noqa: ARG002 - the same in every room
        """See `Sandbox.seen`."""
        return VisiblePaths(Path(TREE), Path(MAIL), Path(HOME))

    def wrap(
        self,
        command: Sequence[str],
        room: Room,
        *,
        environment: Mapping[str, str],
        run_limits: RunLimits,
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
            *_fresh(run_limits),
            *_read_only(shown),
            *(*("--bind", str(room.tree), TREE), *("--ro-bind", str(room.mail), MAIL)),
            *("--bind", str(room.home), HOME),
            *(_way_out(socket) if socket is not None else ()),
            *(*("--remount-ro", "/"), *("--chdir", TREE)),
            *_environment(self._folders_of_programs(), environment),
        ]
        first = ("/bin/sh", "-c", first_process(run_limits), "sh", *inner)
        # `env -i`, for the environment that bubblewrap itself was started with can be read from inside.
        outer = ("/usr/bin/env", "-i", "/usr/bin/nice", "-n", NICENESS, find_program(self._program).path)
        return Wrapped((*outer, *flags, "--", *first), self.seen(room), room)

    def _folders_of_programs(self) -> Iterable[str]:
        yield from SYSTEM_PATH
        for path in self._also_visible:
            if (path / "bin").is_dir():
                yield str(path / "bin")


def first_process(run_limits: RunLimits) -> str:
    """A shell as the first process of its namespace: once it ends, the kernel ends all others first.

    The limits are set in here, because every user namespace counts its processes by itself. The count does
    not hold for a worker that runs as root, whom the kernel exempts: for that one the watchdog counts.
    """
    limits = f"--core=0 --fsize={run_limits.file_bytes} --nproc={run_limits.processes} --nofile={OPEN_FILES}"
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


def _fresh(run_limits: RunLimits) -> Iterable[str]:
    """Own processes, own devices, own temporary files of a bounded size."""
    yield from ("--proc", "/proc")
    for path in filter(os.path.exists, PROC_READ_ONLY):
        yield from ("--ro-bind", path, path)
    for path in filter(os.path.exists, PROC_HIDDEN):
        yield from ("--ro-bind", "/dev/null", path)
    size = str(run_limits.temporary_bytes)
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


# --- finding a program, and what must be visible so that it runs -----------------------------------------

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
SYSTEM_FOLDERS = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64")))  # always visible
SHEBANG_BYTES = 256  # as many as the kernel reads
INTERPRETERS_MAX = 4  # as many as the kernel follows


@dataclass(frozen=True, slots=True)
class VisibleProgram:
    """A program by the path to call it by, and what has to be visible read-only."""

    path: str
    needs: tuple[Path, ...] = ()


def find_program(name: str) -> VisibleProgram:
    """Find a program by its name or path; one with a relative path lies in the tree and is left as it is."""
    if "/" in name and not name.startswith("/"):
        return VisibleProgram(name)
    beside_us = str(Path(sys.executable).parent)
    folders = (*SYSTEM_PATH, *os.environ.get("PATH", "").split(os.pathsep), beside_us)
    found = shutil.which(name, path=os.pathsep.join(filter(None, folders)))
    if found is None:
        raise NotFound(f"the program {name!r} is not there, or may not be run")
    return VisibleProgram(found, tuple(_needs(Path(found), INTERPRETERS_MAX)))


def own_python() -> VisibleProgram:
    """The Python we run on, without its virtual environment: for small scripts of our own."""
    program = Path(sys.executable).resolve()
    prefix = Path(sys.base_prefix)
    return VisibleProgram(str(program), () if is_system(program) else (program, prefix))


def is_system(path: Path) -> bool:
    """Whether a path is visible anyway."""
    return any(path.is_relative_to(folder) for folder in SYSTEM_FOLDERS)


def _needs(program: Path, interpreters: int) -> Iterable[Path]:
    real = program.resolve()
    if not is_system(program):
        yield program
    if not is_system(real):
        yield real
    yield from _installation(program)
    interpreter = _interpreter(real)
    if interpreter is not None and interpreters > 0:
        yield from _needs(interpreter, interpreters - 1)


def _interpreter(script: Path) -> Path | None:
    with script.open("rb") as file:
        first = file.read(SHEBANG_BYTES).partition(b"\n")[0]
    words = first.removeprefix(b"#!").split()
    if not first.startswith(b"#!") or not words:
        return None
    interpreter = Path(os.fsdecode(words[0]))
    return interpreter if interpreter.is_file() else None


def _installation(program: Path) -> Iterable[Path]:
    """A Python is no use without its library: a virtual environment and the installation it is made of."""
    environment = program.parent.parent
    if (environment / "pyvenv.cfg").is_file():
        yield environment
    real = program.resolve()
    for prefix in (Path(sys.base_prefix).resolve(), real.parent.parent):
        is_python = real.name.startswith("python") and (prefix / "lib").is_dir()
        if is_python and real.is_relative_to(prefix) and not is_system(prefix):
            yield prefix
            return
