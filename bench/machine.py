"""What this machine is, and how busy it was: numbers without it mean little."""

from __future__ import annotations

import os
import platform
import sqlite3
from pathlib import Path

FOLDER = Path("/var/tmp")  # on a disk by convention, where /tmp may be memory


def about(folder: Path) -> dict[str, str]:
    """Describe the machine, for the head of the table."""
    return {
        "machine": f"{os.cpu_count()} cores, {platform.system()} {platform.release()}",
        "filesystem": f"{filesystem(folder)} at {folder}",
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }


def load() -> str:
    """Say how many processes wanted to run, over the last 1, 5 and 15 minutes."""
    return " ".join(f"{one:.2f}" for one in os.getloadavg())


def filesystem(folder: Path) -> str:
    """Name the kind of filesystem a folder is on: a commit in memory costs nothing and proves nothing."""
    best, kind = "", "unknown"
    try:
        mounts = Path("/proc/self/mounts").read_text("utf-8").splitlines()
    except OSError:
        return kind
    for mount in mounts:
        _, point, named, *_ = mount.split()
        if folder.resolve().is_relative_to(point) and len(point) >= len(best):
            best, kind = point, named
    return kind


def cpu_seconds(pid: int) -> float:
    """Say how long a process has been running on a core, all its threads together."""
    nanoseconds = 0
    for thread in Path(f"/proc/{pid}/task").iterdir():
        nanoseconds += int((thread / "schedstat").read_text("ascii").split()[0])
    return nanoseconds / 1e9


def busy_seconds(pid: int) -> float:
    """Say the same of a process whose threads come and go; in steps of a clock tick, 10 ms as a rule."""
    fields = Path(f"/proc/{pid}/stat").read_text("ascii", "replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def resident_megabytes(pid: int) -> float:
    """Say how much memory a process holds."""
    for line in Path(f"/proc/{pid}/status").read_text("ascii").splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1024
    return 0.0
