"""The way out of the sandbox: to the model's messages, with a key that nobody inside ever sees."""

import asyncio
import contextlib
import socket
import stat
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.sandbox.model import fake_model
from tests.sandbox.rooms import SMALL
from tests.waiting import HANG_SECONDS, until
from webordinary.core.errors import BadInput
from webordinary.core.work import Room
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sandbox.gateway import ModelGateway
from webordinary.sandbox.run import run_confined
from webordinary.sandbox.sandbox import Sandbox
from webordinary.sandbox.unconfined import Unconfined

KEY = "sk-real-key"
STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"


@contextlib.asynccontextmanager
async def connected(path: Path) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    async with asyncio.timeout(HANG_SECONDS):
        reader, writer = await asyncio.open_unix_connection(path)
        try:
            yield reader, writer
        finally:
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def answer_to(path: Path, request: bytes) -> bytes:
    async with connected(path) as (reader, writer):
        writer.write(request)
        return await reader.read()


def post(target: str = "/v1/messages", body: bytes = b"{}", *headers: str) -> bytes:
    lines = [f"POST {target} HTTP/1.1", "host: 127.0.0.1", f"content-length: {len(body)}", *headers, "", ""]
    return "\r\n".join(lines).encode() + body


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "gateway"


@pytest.mark.parametrize(
    "target",
    ["/v1/messages", "/v1/messages/count_tokens", "/v1/messages?beta=true", "/v1/messages/count_tokens?a=b"],
)
async def test_the_models_messages_can_be_reached(folder: Path, target: str) -> None:
    async with fake_model() as model:
        gateway = ModelGateway(model.url + "/prefix/", KEY)
        async with gateway.serve(folder) as path:
            answer = await answer_to(path, post(target, b'{"a": 1}'))
        assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
        assert answer.endswith(b"\r\n\r\n{}")
        ((head, body),) = model.asked
        assert head.startswith(f"POST /prefix{target} HTTP/1.1\r\n".encode())
        assert body == b'{"a": 1}'
        assert (gateway.requests, gateway.refused) == (1, 0)


@pytest.mark.parametrize(
    "line",
    [
        "GET /v1/messages",
        "POST /v1/messages/",
        "POST /v1/messages/batches",
        "POST /v1/messages/../files",
        "POST /v1/messages/count_tokens/..",
        "POST /v1/files",
        "POST /v1//messages",
        "POST /V1/messages",
        "POST /v1/messages%2fbatches",
        "POST /v1/messages?a=b#c",
        "POST /v1/messages?a=/../../x",
        "POST http://elsewhere.example/v1/messages",
        "POST //elsewhere.example/v1/messages",
        "CONNECT elsewhere.example:443",
        "DELETE /v1/messages",
        "OPTIONS *",
        "POST /",
    ],
)
async def test_nothing_else_can_be_reached(folder: Path, line: str) -> None:
    async with fake_model() as model:
        gateway = ModelGateway(model.url, KEY)
        async with gateway.serve(folder) as path:
            answer = await answer_to(
                path, f"{line} HTTP/1.1\r\nhost: a\r\ncontent-length: 0\r\n\r\n".encode()
            )
        assert answer.startswith(b"HTTP/1.1 403 ")
        assert b'"permission_error"' in answer
        assert model.asked == []
        assert (gateway.requests, gateway.refused) == (0, 1)


async def test_the_key_is_added_and_the_clients_own_is_dropped(folder: Path) -> None:
    async with fake_model() as model, ModelGateway(model.url, KEY).serve(folder) as path:
        answer = await answer_to(
            path,
            post(
                "/v1/messages",
                b"{}",
                "X-Api-Key: fake",
                "Authorization: Bearer fake",
                "Cookie: session=fake",
                "X-Forwarded-For: 10.0.0.1",
                "Anthropic-Version: 2023-06-01",
                "anthropic-beta: a, b",
                "Content-Type: application/json",
            ),
        )
        head = model.asked[0][0].decode().lower()
    assert head.count("x-api-key") == 1
    assert f"x-api-key: {KEY}\r\n" in head
    assert "fake" not in head
    assert "forwarded" not in head
    assert "anthropic-version: 2023-06-01\r\n" in head
    assert "anthropic-beta: a, b\r\n" in head
    assert f"host: {model.url.removeprefix('http://')}\r\n" in head
    assert KEY.encode() not in answer
    assert b"set-cookie" not in answer


async def test_an_answer_flows_piece_by_piece(folder: Path) -> None:
    """A client that waited for the whole answer would take a thinking model for a dead one."""
    pieces = (STREAM + b"5\r\nfirst\r\n", None, b"6\r\nsecond\r\n0\r\n\r\n")
    async with (
        fake_model(*pieces) as model,
        ModelGateway(model.url, KEY).serve(folder) as path,
        connected(path) as (reader, writer),
    ):
        writer.write(post())
        await reader.readuntil(b"first")
        model.go_on.set()
        assert (await reader.read()).endswith(b"second\r\n0\r\n\r\n")


async def test_when_the_client_leaves_so_does_the_gateway(folder: Path) -> None:
    """An interrupted agent's answer must not be paid for to its end."""
    async with fake_model(STREAM, None) as model, ModelGateway(model.url, KEY).serve(folder) as path:
        async with connected(path) as (reader, writer):
            writer.write(post())
            await reader.readuntil(b"\r\n\r\n")
        async with asyncio.timeout(HANG_SECONDS):
            await model.left.wait()


async def test_a_chunked_request_is_passed_on_whole(folder: Path) -> None:
    request = (
        b"POST /v1/messages HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\nexpect: 100-continue\r\n\r\n"
        b"5;x=y\r\nhello\r\n6\r\n world\r\n0\r\ntrailer: x\r\n\r\n"
    )
    async with fake_model() as model, ModelGateway(model.url, KEY).serve(folder) as path:
        answer = await answer_to(path, request)
    assert answer.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    head, body = model.asked[0]
    assert body == b"hello world"
    assert b"content-length: 11\r\n" in head
    assert b"transfer-encoding" not in head


POST = b"POST /v1/messages HTTP/1.1\r\nhost: a\r\n"
CHUNKED = POST + b"transfer-encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (post(body=b"x" * 1001), 413),
        (POST + b"content-length: 1001\r\n\r\n", 413),
        (POST + b"content-length: 1001\r\nexpect: 100-continue\r\n\r\n", 413),
        (CHUNKED + b"ffffffff\r\n" + b"x" * 1001, 413),
        (CHUNKED + b"258\r\n" + b"x" * 600 + b"\r\n258\r\n" + b"x" * 600 + b"\r\n0\r\n\r\n", 413),
        (CHUNKED + b"-5\r\nhello\r\n0\r\n\r\n", 400),
        (CHUNKED + b"2\r\nhello\r\n0\r\n\r\n", 400),
        (CHUNKED + b"5;" + b"x" * 200_000 + b"\r\nhello\r\n0\r\n\r\n", 431),
        (POST + b"\r\n", 411),
        (POST + b"content-length: 99999999999999999999999\r\n\r\n", 400),
        (POST + b"content-length: 1\r\ncontent-length: 2\r\n\r\nab", 400),
        (POST + b"content-length: 1, 2\r\n\r\nab", 400),
        (POST + b"content-length: +1\r\n\r\na", 400),
        (POST + b"content-length : 1\r\n\r\na", 400),
        (POST + b"content-length: 1\r\ntransfer-encoding: chunked\r\n\r\na", 411),
        (POST + b"transfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n0\r\n\r\n", 411),
        (POST + b"transfer-encoding: gzip, chunked\r\n\r\n", 501),
        (POST + b"transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n", 501),
        (POST + b"transfer-encoding: xchunked\r\n\r\n", 501),
        (POST + b"transfer-encoding : chunked\r\n\r\n0\r\n\r\n", 400),
        (POST + b"transfer-encoding: chunked\x00\r\n\r\n0\r\n\r\n", 400),
        (POST + b"a: b\rx-api-key: c\r\ncontent-length: 0\r\n\r\n", 400),
        (b"POST /v1/messages HTTP/1.1\r\n folded: x\r\ncontent-length: 0\r\n\r\n", 400),
        (b"POST /v1/messages HTTP/1.1\r\ncontent-length: 0\r\n\r\n", 400),
        (b"POST /v1/messages HTTP/1.0\r\ncontent-length: 0\r\n\r\n", 400),
        (b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400),
        (b"hello\r\n\r\n", 400),
        (POST + b"a: b\r\n" * 101 + b"\r\n", 431),
        (POST + b"a: " + b"b" * 200_000 + b"\r\n\r\n", 431),
    ],
)
async def test_a_request_that_is_not_plainly_right_is_refused(
    folder: Path, request_bytes: bytes, status: int
) -> None:
    async with fake_model() as model:
        gateway = ModelGateway(model.url, KEY, body_bytes=1000)
        async with gateway.serve(folder) as path:
            answer = await answer_to(path, request_bytes)
        assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert model.asked == []
        assert (gateway.requests, gateway.refused) == (0, 1)


@pytest.mark.parametrize(
    "request_bytes",
    [
        post() + post("/v1/files"),
        CHUNKED + b"2\r\n{}\r\n0\r\n\r\n" + post("/v1/files"),
        POST + b"content-length: 2\r\ncontent-length: 2\r\n\r\n{}" + post("/v1/files"),
        POST + b"anthropic-beta: a\r\n x-api-key: mine\r\ncontent-length: 2\r\n\r\n{}",
        POST + b"anthropic-beta: a\n x-api-key: mine\r\ncontent-length: 2\r\n\r\n{}",
        POST + b"anthropic-beta: a\nx-api-key: mine\ncontent-length: 2\r\n\r\n{}",
        POST + b"Transfer-Encoding: Chunked\r\n\r\n2\r\n{}\r\n0\r\ncontent-length: 9\r\n\r\n",
        POST + b"connection: x-api-key, content-length\r\ncontent-length: 2\r\n\r\n{}",
        POST + b"connection: upgrade\r\nupgrade: websocket\r\ncontent-length: 2\r\n\r\n{}",
        POST + b"connection: upgrade, http2-settings\r\nupgrade: h2c\r\ncontent-length: 2\r\n\r\n{}",
    ],
    ids=[
        *("pipelined", "after chunks", "same length twice", "folded", "folded by a newline", "bare newlines"),
        *("trailer", "connection names our headers", "websocket", "http2"),
    ],
)
async def test_the_server_behind_gets_one_request_however_it_was_framed(
    folder: Path, request_bytes: bytes
) -> None:
    """What one reader takes for one request and the next for two is how strangers get at a key's server."""
    async with fake_model() as model, ModelGateway(model.url, KEY).serve(folder) as path:
        answer = await answer_to(path, request_bytes)
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")
    assert answer.count(b"HTTP/1.1 ") == 1
    ((head, body),) = model.asked
    names = [line.partition(b":")[0] for line in head.split(b"\r\n")[1:-2]]
    framing = [name for name in names if name in (b"content-length", b"transfer-encoding", b"upgrade")]
    assert (framing, body) == ([b"content-length"], b"{}")
    assert b"connection: close\r\n" in head
    assert names.count(b"x-api-key") == 1
    assert b"\r\nx-api-key: %s\r\n" % KEY.encode() in head
    assert b"\n" not in head.replace(b"\r\n", b"")


async def test_a_client_that_goes_on_talking_is_answered_all_the_same(folder: Path) -> None:
    """Its next request is read by nobody, and does not end the first."""
    pieces = (STREAM + b"5\r\nfirst\r\n", None, b"6\r\nsecond\r\n0\r\n\r\n")
    async with (
        fake_model(*pieces) as model,
        ModelGateway(model.url, KEY).serve(folder) as path,
        connected(path) as (reader, writer),
    ):
        writer.write(post())
        await reader.readuntil(b"first")
        writer.write(post("/v1/files"))
        await writer.drain()
        model.go_on.set()
        assert (await reader.read()).endswith(b"second\r\n0\r\n\r\n")
        assert len(model.asked) == 1


async def test_who_asks_whether_to_go_on_is_told(folder: Path) -> None:
    """Large requests wait for this; curl and others give up on a server that says nothing."""
    async with (
        fake_model() as model,
        ModelGateway(model.url, KEY).serve(folder) as path,
        connected(path) as (reader, writer),
    ):
        writer.write(POST + b"content-length: 2\r\nexpect: 100-continue\r\n\r\n")
        assert await reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
        writer.write(b"{}")
        assert (await reader.read()).startswith(b"HTTP/1.1 200 OK\r\n")
        assert [body for _, body in model.asked] == [b"{}"]


async def test_an_answer_that_breaks_off_does_not_look_whole(folder: Path) -> None:
    """Half of an answer that is taken for all of it would become somebody's page."""
    async with (
        fake_model(STREAM + b"5\r\nfirst\r\n") as model,
        ModelGateway(model.url, KEY).serve(folder) as path,
    ):
        answer = await answer_to(path, post())
    assert b"first" in answer
    assert not answer.endswith(b"0\r\n\r\n")


async def test_a_server_that_is_down_is_told_as_such(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    async with ModelGateway(f"http://127.0.0.1:{port}", KEY).serve(folder) as path:
        answer = await answer_to(path, post())
    assert answer.startswith(b"HTTP/1.1 502 ")
    assert b"can't be reached" in answer


@pytest.mark.parametrize(
    "pieces",
    [
        [b""],
        [b"garbage\r\n"],
        [b"HTTP/1.1 200 OK\r\nbad header\r\n\r\n"],
        [b"HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n"],
        [b"HTTP/1.1 200 OK\r\na: " + b"b" * 200_000 + b"\r\n\r\n"],
    ],
    ids=["nothing", "garbage", "a bad header", "another protocol", "headers without end"],
)
async def test_a_server_that_answers_nonsense_is_told_as_such(folder: Path, pieces: list[bytes]) -> None:
    async with fake_model(*pieces) as model, ModelGateway(model.url, KEY).serve(folder) as path:
        assert (await answer_to(path, post())).startswith(b"HTTP/1.1 502 ")


async def test_the_socket_is_for_us_alone_and_goes_with_the_gateway(tmp_path: Path) -> None:
    folder = tmp_path / ("long" * 30) / "gateway"
    async with ModelGateway("http://127.0.0.1:9", KEY).serve(folder) as path:
        assert len(str(path)) > 108
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not path.exists()


async def test_a_gateway_that_closes_ends_its_talks(folder: Path) -> None:
    async with fake_model(STREAM, None) as model:
        async with ModelGateway(model.url, KEY).serve(folder) as path:
            reader, writer = await asyncio.open_unix_connection(path)
            writer.write(post())
            await reader.readuntil(b"\r\n\r\n")
        assert await reader.read() == b""
        writer.close()
        await until(model.left.is_set)


@pytest.mark.parametrize(
    "url", ["ftp://host", "host", "https://", "https://user:pw@host", "https://host?a=b"]
)
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(BadInput):
        ModelGateway(url, KEY)


def test_a_key_that_could_be_a_header_is_refused() -> None:
    with pytest.raises(BadInput):
        ModelGateway("https://host", "key\r\nx: y")


# --- from inside ------------------------------------------------------------------------------------------

ASK = """
import os, urllib.error, urllib.request
base = os.environ["ANTHROPIC_BASE_URL"]
request = urllib.request.Request(base + "/v1/messages", data=b"{}", headers={"x-api-key": "none"})
with urllib.request.urlopen(request) as answer:
    print(answer.status, answer.read().decode())
try:
    urllib.request.urlopen(base + "/v1/files")
except urllib.error.HTTPError as error:
    print(error.code)
    error.close()
print([value for name, value in os.environ.items() if "KEY" in name])
raise SystemExit(7)
"""


@pytest.mark.parametrize("sandbox", [Bubblewrap(), Unconfined()], ids=["bubblewrap", "unconfined"])
async def test_the_relay_leads_from_inside_to_the_model(room: Room, folder: Path, sandbox: Sandbox) -> None:
    async with fake_model() as model, ModelGateway(model.url, KEY).serve(folder) as path:
        wrapped = sandbox.wrap(
            ["/usr/bin/python3", "-c", ASK], room, environment={}, run_limits=SMALL, socket=path
        )
        ran = await run_confined(wrapped, SMALL)
    assert ran.tail.splitlines() == ["200 {}", "403", "[]"]
    assert f"x-api-key: {KEY}" in model.asked[0][0].decode()


async def test_the_relay_passes_signals_and_the_exit_code_on(room: Room, folder: Path) -> None:
    stop = asyncio.Event()
    script = "trap 'echo asked; exit 9' TERM; echo ready; while :; do sleep 0.05; done"
    async with ModelGateway("http://127.0.0.1:9", KEY).serve(folder) as path:
        for command, tail in ((["sh", "-c", script], "asked"), (["sh", "-c", "kill -9 $$"], "")):
            wrapped = Bubblewrap().wrap(command, room, environment={}, run_limits=SMALL, socket=path)
            ran = await run_confined(
                wrapped, SMALL, on_line=lambda _: stop.set(), stop=stop if tail else None, grace_seconds=20
            )
            assert tail in ran.tail
    assert getattr(ran.ending, "code", None) == 137
