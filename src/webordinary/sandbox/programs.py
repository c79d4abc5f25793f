"""Finding a program, and what must be visible so that it runs: itself, its interpreter, a library."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from webordinary.core.errors import NotFound

SYSTEM_PATH = ("/usr/local/bin", "/usr/bin", "/bin")
SYSTEM_FOLDERS = tuple(map(Path, ("/usr", "/bin", "/sbin", "/lib", "/lib64")))  # always visible
SHEBANG_BYTES = 256  # as many as the kernel reads
INTERPRETERS_MAX = 4  # as many as the kernel follows


@dataclass(frozen=True, slots=True)
class Program:
    """A program by the path to call it by, and what has to be visible read-only."""

    path: str
    needs: tuple[Path, ...] = ()


def find_program(name: str) -> Program:
    """Find a program by its name or path; one with a relative path lies in the tree and is left as it is."""
    if "/" in name and not name.startswith("/"):
        return Program(name)
    beside_us = str(Path(sys.executable).parent)
    folders = (*SYSTEM_PATH, *os.environ.get("PATH", "").split(os.pathsep), beside_us)
    found = shutil.which(name, path=os.pathsep.join(filter(None, folders)))
    if found is None:
        raise NotFound(f"the program {name!r} is not there, or may not be run")
    return Program(found, tuple(_needs(Path(found), INTERPRETERS_MAX)))


def own_python() -> Program:
    """The Python we run on, without its virtual environment: for small scripts of our own."""
    program = Path(sys.executable).resolve()
    prefix = Path(sys.base_prefix)
    return Program(str(program), () if is_system(program) else (program, prefix))


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
