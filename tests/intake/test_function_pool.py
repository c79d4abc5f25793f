"""Processes that may hang, bloat or die, and take nobody with them."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from typing import TypeVar

import pytest

from tests.processes import alive, children
from tests.waiting import until, wait_until
from webordinary.core.mail import ParsedMail, UnreadableMail
from webordinary.intake.read import read_each
from webordinary.mail.reader import TOO_MUCH, PooledMailReader
from webordinary.system import function_pool as module
from webordinary.system.function_pool import FunctionPool, OutOfBounds

MAIL = b"From: Scott <scott@example.com>\r\nMessage-ID: <a@example.com>\r\n\r\nhello\r\n"
T = TypeVar("T")
MEMORY_BYTES = 512 * 1024 * 1024


async def test_a_function_runs_elsewhere_and_its_value_comes_back() -> None:
    async with FunctionPool() as pool:
        assert await pool.run(os.getpid) != os.getpid()
        assert await pool.run(os.getpid) == await pool.run(os.getpid), "one process serves many calls"


async def test_a_call_that_hangs_is_ended_and_the_next_one_served() -> None:
    """No mail can stop the mail behind it."""
    async with FunctionPool(seconds=0.2) as pool:
        with pytest.raises(OutOfBounds):
            await pool.run(time.sleep, 600)
        assert await pool.run(len, b"four") == 4


async def test_a_process_that_cannot_hear_its_alarm_is_killed_from_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A stopped process hears nothing; whoever waits for it must not wait for ever."""
    monkeypatch.setattr(module, "STARTING_SECONDS", 1.0)
    async with FunctionPool(seconds=0.2) as pool:
        pid = await pool.run(os.getpid)
        os.kill(pid, signal.SIGSTOP)
        with pytest.raises(OutOfBounds):
            await pool.run(len, b"four")
        await until(lambda: not alive(pid))
        assert await pool.run(len, b"four") == 4


async def test_a_call_that_wants_too_much_memory_gets_none() -> None:
    async with FunctionPool(memory_bytes=MEMORY_BYTES) as pool:
        with pytest.raises(OutOfBounds):
            await pool.run(bytearray, 2 * MEMORY_BYTES)
        assert await pool.run(len, b"four") == 4


@pytest.mark.parametrize(
    "code", ["__import__('os')._exit(3)", "__import__('os').kill(__import__('os').getpid(), 11)"]
)
async def test_a_process_that_dies_is_replaced(code: str) -> None:
    async with FunctionPool() as pool:
        with pytest.raises(OutOfBounds):
            await pool.run(eval, code)
        assert await pool.run(len, b"four") == 4


async def test_an_error_is_told_and_costs_no_process() -> None:
    async with FunctionPool() as pool:
        pid = await pool.run(os.getpid)
        with pytest.raises(OutOfBounds, match="ZeroDivisionError"):
            await pool.run(eval, "1 / 0")
        assert await pool.run(os.getpid) == pid


@pytest.mark.parametrize(
    "code",
    [
        "__import__('pathlib').Path('/')",
        "__import__('datetime').date(2026, 5, 12)",
        "type('X', (), {'__reduce__': lambda self: (print, ('evil',))})()",
        "type('X', (), {'__reduce__': lambda self: (__import__('os').system, ('touch /tmp/evil',))})()",
    ],
)
async def test_an_answer_that_is_no_plain_value_is_not_read(code: str) -> None:
    """The process has worked on hostile bytes: what it says is hostile too."""
    async with FunctionPool() as pool:
        with pytest.raises(OutOfBounds, match="nonsense"):
            await pool.run(eval, code)


@pytest.mark.parametrize(
    "named",
    [
        *(
            b"webordinary.core.mail dataclass",
            b"webordinary.core.mail StrEnum",
            b"webordinary.core.mail field",
        ),
        *(b"webordinary.core.mail Envelope.__init__", b"webordinary.core.errors BadInput", b"builtins eval"),
    ],
)
def test_only_our_own_plain_classes_can_be_named_in_an_answer(named: bytes) -> None:
    """A pickle is a program; this one knows no verbs."""
    answer = b"c" + named.replace(b" ", b"\n") + b"\n."
    with pytest.raises(OutOfBounds, match="nonsense"):
        module._plain(answer)


async def test_an_answer_beyond_all_measure_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "ANSWER_BYTES", 1_000)
    async with FunctionPool() as pool:
        with pytest.raises(OutOfBounds):
            await pool.run(bytes, 2_000)
        assert await pool.run(len, b"four") == 4


async def test_a_stray_print_is_no_answer() -> None:
    async with FunctionPool() as pool:
        assert await pool.run(eval, "print('x' * 100, flush=True)") is None
        assert await pool.run(len, b"four") == 4


async def test_a_cancelled_call_takes_its_process_along() -> None:
    """Its late answer must not be taken for the answer to the next call."""
    async with FunctionPool() as pool:
        pid = await pool.run(os.getpid)
        call = asyncio.create_task(pool.run(time.sleep, 600))
        await asyncio.sleep(0.05)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        assert not alive(pid)
        assert await pool.run(len, b"four") == 4


async def test_calls_wait_for_a_free_process() -> None:
    async with FunctionPool(processes=2) as pool:
        pids = await asyncio.gather(*(pool.run(os.getpid) for _ in range(40)))
        assert len(set(pids)) <= 2


async def test_a_process_retires_before_it_can_leak(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CALLS_EACH", 3)
    async with FunctionPool() as pool:
        pids = [await pool.run(os.getpid) for _ in range(6)]
        assert len(set(pids[:3])) == len(set(pids[3:])) == 1
        assert pids[0] != pids[3]


async def test_closing_leaves_no_process() -> None:
    before = set(children(os.getpid()))
    async with FunctionPool(processes=2) as pool:
        await asyncio.gather(*(pool.run(time.sleep, 0.05) for _ in range(2)))
        assert len(set(children(os.getpid())) - before) == 2
    assert set(children(os.getpid())) <= before


async def test_our_secrets_stay_with_us(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hostile bytes are read there; a key in the environment would be one bug away."""
    monkeypatch.setenv("WEBORDINARY_RELAY_PASSWORD", "secret")
    async with FunctionPool() as pool:
        seen = await pool.run(eval, "dict(__import__('os').environ)")
    assert "WEBORDINARY_RELAY_PASSWORD" not in seen


@pytest.mark.parametrize("doing", ["len, b'x'", "time.sleep, 600"])
def test_a_killed_gateway_leaves_no_process_behind(doing: str) -> None:
    """Neither an idle one nor one that hangs."""
    program = f"""
        import asyncio, os, time
        from webordinary.system.function_pool import FunctionPool
        async def main():
            pool = FunctionPool(seconds=2)
            print(await pool.run(os.getpid), flush=True)
            await pool.run({doing})
            await asyncio.sleep(600)
        asyncio.run(main())
    """
    command = [sys.executable, "-c", textwrap.dedent(program)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as gateway:
        assert gateway.stdout is not None
        pid = int(gateway.stdout.readline())
        assert alive(pid)
        gateway.kill()
    wait_until(lambda: not alive(pid))


async def test_the_reader_gives_values_whatever_happens() -> None:
    async with FunctionPool() as pool:
        mail = await PooledMailReader(pool).read(MAIL)
        assert isinstance(mail, ParsedMail)
        assert mail.own_words == "hello"


async def test_a_mail_that_is_out_of_bounds_is_unreadable_and_can_be_answered() -> None:
    """Its header is enough to know whom to tell."""
    async with FunctionPool(seconds=0.001) as pool:
        mail = await PooledMailReader(pool).read(MAIL + b"x\r\n" * 59_000)
    assert isinstance(mail, UnreadableMail)
    assert (mail.reason, mail.reply_to, mail.message_id) == (TOO_MUCH, "scott@example.com", "<a@example.com>")


async def test_a_mail_as_large_as_allowed_goes_there_and_back() -> None:
    """Pipes are small; mails are not."""
    async with FunctionPool() as pool:
        content = await pool.run(bytes, 30 * 1024 * 1024)
    assert len(content) == 30 * 1024 * 1024


def mail(number: int) -> bytes:
    return MAIL.replace(b"hello", b"hello %d" % number)


async def test_mails_that_have_to_wait_are_read_together_and_each_is_its_own() -> None:
    """Twenty connections would otherwise wait for twenty trips to a process, and for twenty commits."""
    calls: list[str] = []

    class Watched(FunctionPool):
        async def run(self, function: Callable[..., T], *arguments: object) -> T:
            calls.append(function.__name__)
            return await super().run(function, *arguments)

    async with Watched(processes=2) as pool:
        reader = PooledMailReader(pool)
        mails = await asyncio.gather(*(reader.read(mail(number)) for number in range(40)))
    assert [one.own_words for one in mails if isinstance(one, ParsedMail)] == [
        f"hello {n}" for n in range(40)
    ]
    assert calls.count("read") == 2
    assert calls.count("read_each") <= 4


async def test_one_that_is_out_of_bounds_takes_no_other_along() -> None:
    """Those that were to be read together with it are read one by one."""

    class Dying(FunctionPool):
        async def run(self, function: Callable[..., T], *arguments: object) -> T:
            if function is read_each:
                return await super().run(eval, "__import__('os')._exit(3)")
            return await super().run(function, *arguments)

    async with Dying() as pool:
        reader = PooledMailReader(pool)
        mails = await asyncio.gather(*(reader.read(mail(number)) for number in range(5)))
    assert [one.own_words for one in mails if isinstance(one, ParsedMail)] == [f"hello {n}" for n in range(5)]


async def test_who_hangs_up_while_waiting_takes_no_other_along() -> None:
    async with FunctionPool() as pool:
        reader = PooledMailReader(pool)
        readings = [asyncio.create_task(reader.read(mail(number))) for number in range(4)]
        await asyncio.sleep(0)
        readings[2].cancel()
        first, second, gone, last = await asyncio.gather(*readings, return_exceptions=True)
    assert isinstance(gone, asyncio.CancelledError)
    assert [one.own_words for one in (first, second, last) if isinstance(one, ParsedMail)] == [
        "hello 0",
        "hello 1",
        "hello 3",
    ]
