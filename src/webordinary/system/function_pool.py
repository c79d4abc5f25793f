"""Pure functions under a limit of time and memory, each in a process that is killed when it goes over one.

The processes are long-lived: a call costs a fraction of a millisecond. What a process answers is not trusted
either, for it has worked on hostile bytes: only our own plain values are read from it.
"""

from __future__ import annotations

import asyncio
import io
import os
import pickle
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self, TypeVar

from webordinary.system.function_pool_child import GRACE_SECONDS, LENGTH
from webordinary.system.processes import STANDARD_ERROR, ChildProcess, Program

T = TypeVar("T")

CALL_SECONDS = 10.0
MEMORY_BYTES = 1536 * 1024 * 1024  # address space of one process: a photo of 60 million pixels, and libraries
CALLS_EACH = 1_000  # then the process is replaced, so that nothing adds up
ANSWER_BYTES = 256 * 1024 * 1024
STARTING_SECONDS = 20.0  # for a new process to load what it runs, on a busy machine

PLAIN_VALUES = ("webordinary.core.failure", "webordinary.core.mail", "webordinary.ports.images")

PASSED_ON = frozenset({"PATH", "PYTHONPATH", "PYTHONHOME", "VIRTUAL_ENV", "LANG", "LC_ALL", "TZ"})


class OutOfBounds(Exception):
    """A call took too long or too much, or its process died of it."""


class FunctionPool:
    """A few processes that run pure functions. Use it as a context manager, or close it."""

    def __init__(
        self, *, processes: int = 1, seconds: float = CALL_SECONDS, memory_bytes: int = MEMORY_BYTES
    ) -> None:
        """Set the limits. Processes start when they are needed."""
        self._seconds, self._memory_bytes, self.processes = seconds, memory_bytes, processes
        self._all = [_Worker(memory_bytes) for _ in range(processes)]
        self._free: asyncio.LifoQueue[_Worker] = asyncio.LifoQueue()
        for worker in self._all:
            self._free.put_nowait(worker)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()

    async def run(self, function: Callable[..., T], *arguments: object) -> T:
        """Run a function of a module on plain values. Raises `OutOfBounds`, and nothing else of its own."""
        request = pickle.dumps((self._seconds, function, arguments), protocol=5)
        worker = await self._free.get()
        try:
            answer = await self._ask(worker, request)
        finally:
            self._free.put_nowait(worker)
        is_good, value = _plain(answer)
        if not is_good:
            raise OutOfBounds(str(value))
        return value  # type: ignore[no-any-return]

    async def _ask(self, worker: _Worker, request: bytes) -> bytes:
        allowed = self._seconds + GRACE_SECONDS + (STARTING_SECONDS if worker.is_new else 0.0)
        try:
            async with asyncio.timeout(allowed):
                return await worker.ask(request)
        except TimeoutError:
            raise OutOfBounds(f"no answer within {allowed:g} s") from None
        except (OSError, EOFError) as error:
            raise OutOfBounds("its process died") from error
        finally:
            if not worker.is_idle:  # asked and not answered, or retired: of no further use
                await worker.end()

    async def close(self) -> None:
        """End all processes and wait until they are gone."""
        await asyncio.gather(*(worker.end() for worker in self._all))


class _Worker:
    """One process, started when it is first asked and again after it was ended."""

    def __init__(self, memory_bytes: int) -> None:
        self._memory_bytes = memory_bytes
        self._process: ChildProcess | None = None
        self._answers = asyncio.StreamReader()
        self._calls = 0
        self.is_idle = True

    @property
    def is_new(self) -> bool:
        return self._calls == 0

    async def ask(self, request: bytes) -> bytes:
        self.is_idle = False
        process = self._process or await self._start()
        process.pipe(0).write(LENGTH.pack(len(request)) + request)
        (length,) = LENGTH.unpack(await self._answers.readexactly(LENGTH.size))
        if length > ANSWER_BYTES:
            raise EOFError
        answer = await self._answers.readexactly(length)
        self._calls += 1
        self.is_idle = self._calls < CALLS_EACH
        return answer

    async def _start(self) -> ChildProcess:
        """It ends when its input does, so not after us."""
        command = (
            sys.executable,
            "-P",
            "-m",
            "webordinary.system.function_pool_child",
            str(self._memory_bytes),
        )
        program = Program(command, stdin=None, environment=_harmless_environment())
        self._answers = asyncio.StreamReader()
        self._process = await ChildProcess.start(program, output=self._answers, errors=STANDARD_ERROR)
        self._answers.set_transport(self._process.pipe(1))  # so that it can't fill our memory
        return self._process

    async def end(self) -> None:
        """End the process, if there is one, and be ready to start another."""
        process, self._process, self._calls, self.is_idle = self._process, None, 0, True
        if process is not None:
            await process.end()


def _harmless_environment() -> dict[str, str]:
    """What Python needs, and none of our secrets: what is read in there is hostile."""
    return {name: value for name, value in os.environ.items() if name in PASSED_ON}


# --- reading answers --------------------------------------------------------------------------------------


class _PlainValues(pickle.Unpickler):
    """Reads plain values and nothing that could run."""

    def find_class(self, module: str, name: str) -> Any:  # noqa: ANN401 - as the library has it
        if module in PLAIN_VALUES and name.isidentifier():
            found = super().find_class(module, name)
            if isinstance(found, type) and found.__module__ == module:
                return found
        raise pickle.UnpicklingError(f"{module}.{name} is no plain value")


def _plain(answer: bytes) -> tuple[bool, Any]:
    try:
        is_good, value = _PlainValues(io.BytesIO(answer)).load()
    except Exception as error:
        raise OutOfBounds("its process answered nonsense") from error
    return bool(is_good), value
