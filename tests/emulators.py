"""The emulated cloud: MiniStack in a virtual environment of its own, and a server of it on loopback.

Its botocore is another one than ours, so it lives in `.emulators/` (git-ignored), which is set up
once from `requirements/emulators.txt`, whichever test process comes first.
"""

import contextlib
import fcntl
import hashlib
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parent.parent
ENVIRONMENT = REPOSITORY / ".emulators"
PINS = REPOSITORY / "requirements" / "emulators.txt"
SETUP_SECONDS, START_SECONDS, STOP_SECONDS = 240, 30, 10
START_ATTEMPTS = 3  # somebody else may take the free port first


@contextlib.contextmanager
def ministack(folder: Path) -> Iterator[str]:
    """Run an empty cloud that keeps its files in this folder; give its endpoint. Ends with the context."""
    program = emulator("ministack")
    for attempt in range(START_ATTEMPTS):
        port = free_port()
        endpoint = f"http://127.0.0.1:{port}"
        with (folder / f"ministack-{attempt}.log").open("wb") as log:
            server = subprocess.Popen(
                [program],
                cwd=folder,
                env=surroundings(folder, port),
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        try:
            if answers(endpoint, server):
                yield endpoint
                return
        finally:
            stop(server)
    pytest.fail(f"MiniStack did not start in {START_ATTEMPTS} attempts; its logs are in {folder}")


def surroundings(folder: Path, port: int) -> dict[str, str]:
    """What the emulator sees of this machine: none of our credentials, none of our files."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder),
        "TMPDIR": str(folder),
        "BIND_HOST": "127.0.0.1",  # its default is all interfaces
        "MINISTACK_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "LOG_LEVEL": "WARNING",
    }


def emulator(name: str) -> Path:
    """Find a program of the emulators' environment, which is set up if it is not there or not up to date."""
    ENVIRONMENT.mkdir(exist_ok=True)
    wanted = hashlib.sha256(PINS.read_bytes()).hexdigest()
    stamp = ENVIRONMENT / ".stamp"
    with (ENVIRONMENT / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # given back when the file is closed
        if not stamp.exists() or stamp.read_text() != wanted:
            set_up()
            stamp.write_text(wanted)
    return ENVIRONMENT / "bin" / name


def set_up() -> None:
    pip = (ENVIRONMENT / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    try:
        for command in (
            (sys.executable, "-m", "venv", ENVIRONMENT),
            (*pip, "--require-hashes", "-r", PINS),
        ):
            subprocess.run(command, check=True, capture_output=True, text=True, timeout=SETUP_SECONDS)
    except (subprocess.SubprocessError, OSError) as error:
        words = getattr(error, "stderr", None) or str(error)
        told = f"the emulators can't be set up in {ENVIRONMENT}: {str(words).strip()[-500:]}"
        if os.environ.get("CI") == "true":
            pytest.fail(told)
        pytest.skip(told)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


def answers(endpoint: str, server: subprocess.Popen[bytes]) -> bool:
    """Wait until the server answers; say no when it ended instead."""
    give_up = time.monotonic() + START_SECONDS
    while server.poll() is None and time.monotonic() < give_up:
        try:
            with urllib.request.urlopen(f"{endpoint}/_ministack/health", timeout=1):
                return True
        except urllib.error.HTTPError as error:
            error.close()
            return True
        except OSError:
            time.sleep(0.05)
    return False


def stop(server: subprocess.Popen[bytes]) -> None:
    """End the one process that was started here."""
    server.terminate()
    try:
        server.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()
