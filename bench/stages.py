"""Where a job's time goes: every call of a port is noted with its begin and end, and so are the gaps."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

# What is no call of a port is known by the calls around it.
GAPS = {
    ("open", "commit"): "agent that takes no time, its event",
    ("build", "push"): "gate: all files read and looked at",
    ("latest", "patch"): "links of all pages, what is left of it",
}


@dataclass(slots=True)
class Notes:
    """The calls of one job, one after the other."""

    calls: list[tuple[str, float, float]] = field(default_factory=list)
    programs: int = 0  # started by us; what git starts by itself is not counted

    def stages(self) -> dict[str, float]:
        """Milliseconds of each stage; `other` is what happened between the calls."""
        spent: dict[str, float] = {}
        former, until = "", self.calls[0][1]
        for name, began, ended in self.calls:
            between = GAPS.get((former, name), "other")
            spent[between] = spent.get(between, 0.0) + (began - until) * 1000
            spent[name] = spent.get(name, 0.0) + (ended - began) * 1000
            former, until = name, ended
        return spent


class Watched:
    """Stands before a port, and notes how long each of its calls takes."""

    def __init__(self, port: object, notes: Callable[[], Notes], *names: str) -> None:
        """Note calls of these methods; all others pass as they are."""
        self._port, self._notes, self._names = port, notes, names

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the port has
        given = getattr(self._port, name)
        if name not in self._names or not inspect.iscoroutinefunction(given):
            return given

        async def noted(*arguments: object, **options: object) -> object:
            began = time.perf_counter()
            try:
                return await given(*arguments, **options)
            finally:
                self._notes().calls.append((name, began, time.perf_counter()))

        return noted


@contextmanager
def counted_programs(notes: Callable[[], Notes]) -> Iterator[None]:
    """Count the programs that this process starts: whoever starts one asks the loop."""
    real = asyncio.BaseEventLoop.subprocess_exec

    async def counting(loop: asyncio.BaseEventLoop, *arguments: Any, **options: Any) -> Any:  # noqa: ANN401 - passed on
        notes().programs += 1
        return await real(loop, *arguments, **options)

    asyncio.BaseEventLoop.subprocess_exec = counting  # type: ignore[method-assign, assignment]
    try:
        yield
    finally:
        asyncio.BaseEventLoop.subprocess_exec = real  # type: ignore[method-assign]
    if not notes().programs:
        raise RuntimeError("a job on a site started no program: they are counted in the wrong place")
