"""A scripted model behind the Messages API, on loopback: what it answers depends only on what it is asked.

    def script(request: Request) -> Reply:
        return Use("Read", {"file_path": "/site/index.html"}) if request.round == 0 else Say("Done.")

    with ModelServer(script) as server:
        ...  # server.base_url, server.requests

A script looks at the last text a person typed (`typed`) and at the results of the tools since then
(`results`, `round`). So retries, side calls and resumed conversations get the same answers again.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self, cast

from tests.waiting import HANG_SECONDS

HOLD_SECONDS = 2 * HANG_SECONDS  # longer than any test waits

# Texts in a user's turn that no user typed.
_NOT_TYPED = ("<system-reminder>", "[Request interrupted")


@dataclass(frozen=True, slots=True)
class Request:
    """One call of the model."""

    path: str
    headers: dict[str, str]  # names in lower case
    body: dict[str, Any]

    @property
    def is_side_call(self) -> bool:
        """Whether it is the client's own errand (a title, a quota), not a turn of the conversation."""
        return not self.body.get("tools")

    @property
    def typed(self) -> str:
        """The last text that a person typed."""
        return self._last_turn()[0]

    @property
    def results(self) -> tuple[str, ...]:
        """What the tools gave since then."""
        return self._last_turn()[1]

    @property
    def round(self) -> int:
        """How many tools were used since then."""
        return len(self.results)

    @property
    def everything(self) -> str:
        """All that was sent, as text to search in."""
        return json.dumps(self.body, ensure_ascii=False)

    def _last_turn(self) -> tuple[str, tuple[str, ...]]:
        typed, results = "", list[str]()
        for message in self.body.get("messages", ()):
            if message["role"] != "user":
                continue
            blocks = list(_blocks(message["content"]))
            texts = [block["text"] for block in blocks if block["type"] == "text"]
            texts = [text for text in texts if not text.startswith(_NOT_TYPED)]
            found = [_text_of(block.get("content")) for block in blocks if block["type"] == "tool_result"]
            if texts and not found:
                typed, results = "\n".join(texts), []
            results += found
        return typed, tuple(results)


def _blocks(content: str | list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    if isinstance(content, str):
        yield {"type": "text", "text": content}
    else:
        yield from content


def _text_of(content: object) -> str:
    return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)


@dataclass(frozen=True, slots=True)
class Say:
    """The model's last word of a turn."""

    text: str
    tokens: int = 10  # of the answer, for the bill


@dataclass(frozen=True, slots=True)
class Use:
    """The model uses a tool, perhaps after a word."""

    tool: str
    arguments: dict[str, Any]
    text: str = ""
    tokens: int = 10


@dataclass(frozen=True, slots=True)
class Refuse:
    """The service answers with an error."""

    status: int
    kind: str = "api_error"
    message: str = "scripted refusal"


@dataclass(frozen=True, slots=True)
class Hold:
    """The stream begins and then says nothing any more."""


Reply = Say | Use | Refuse | Hold
Script = Callable[[Request], Reply]


@dataclass
class ModelServer:
    """The server; runs in threads from entering to leaving."""

    script: Script
    requests: list[Request] = field(default_factory=list)
    connections: set[socket.socket] = field(default_factory=set)
    _closing: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        self._http = _Http(("127.0.0.1", 0), _Handler)
        self._http.model = self
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._closing.set()
        self._http.shutdown()
        self._end_connections()
        self._http.server_close()
        self._thread.join()

    def _end_connections(self) -> None:
        for connection in list(self.connections):
            with contextlib.suppress(OSError):  # the client was quicker
                connection.shutdown(socket.SHUT_RDWR)

    @property
    def base_url(self) -> str:
        host, port = self._http.server_address[:2]
        return f"http://{host!s}:{port}"

    @property
    def turns(self) -> list[Request]:
        """The calls that belong to the conversation."""
        return [request for request in self.requests if not request.is_side_call]

    def answer(self, request: Request) -> Reply:
        self.requests.append(request)
        return Say("ok") if request.is_side_call else self.script(request)

    def hold(self) -> None:
        self._closing.wait(HOLD_SECONDS)


class _Http(ThreadingHTTPServer):
    model: ModelServer
    daemon_threads = False  # so that closing waits for them
    block_on_close = True

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that was killed mid-stream is no news."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    @property
    def _model(self) -> ModelServer:
        return cast("_Http", self.server).model

    def setup(self) -> None:
        super().setup()
        self._model.connections.add(self.connection)

    def finish(self) -> None:
        self._model.connections.discard(self.connection)
        super().finish()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class names it so
        """Stay silent."""

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, body)
        if "count_tokens" in self.path:
            self._model.requests.append(request)
            self._send_json(200, {"input_tokens": 10})
            return
        reply = self._model.answer(request)
        if isinstance(reply, Refuse):
            error = {"type": reply.kind, "message": reply.message}
            self._send_json(reply.status, {"type": "error", "error": error})
        elif body.get("stream"):
            self._stream(body, reply)
        else:
            self._send_json(200, _message(body, reply))

    def _send_json(self, status: int, content: object) -> None:
        payload = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(payload)))
        self.end_headers()
        self.wfile.write(payload)

    def _stream(self, body: dict[str, Any], reply: Reply) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("transfer-encoding", "chunked")
        self.end_headers()
        message = _message(body, reply)
        self._send_event("message_start", message={**message, "content": [], "stop_reason": None})
        if isinstance(reply, Hold):
            self._model.hold()
            self.close_connection = True
            return
        for index, block in enumerate(message["content"]):
            empty, delta = _in_two(block)
            self._send_event("content_block_start", index=index, content_block=empty)
            self._send_event("content_block_delta", index=index, delta=delta)
            self._send_event("content_block_stop", index=index)
        ended = {"stop_reason": message["stop_reason"], "stop_sequence": None}
        self._send_event("message_delta", delta=ended, usage=message["usage"])
        self._send_event("message_stop")
        self.wfile.write(b"0\r\n\r\n")

    def _send_event(self, kind: str, **content: object) -> None:
        event = f"event: {kind}\ndata: {json.dumps({'type': kind, **content})}\n\n".encode()
        self.wfile.write(b"%x\r\n%s\r\n" % (len(event), event))


def _message(body: dict[str, Any], reply: Reply) -> dict[str, Any]:
    """The whole answer, as an answer that is not streamed has it."""
    content: list[dict[str, Any]] = []
    text = reply.text if isinstance(reply, Say | Use) else ""
    if text:
        content.append({"type": "text", "text": text})
    number = len(body.get("messages", ()))
    if isinstance(reply, Use):
        content.append(
            {"type": "tool_use", "id": f"toolu_{number:04}", "name": reply.tool, "input": reply.arguments}
        )
    return {
        "id": f"msg_{number:04}",
        "type": "message",
        "role": "assistant",
        "model": body.get("model", "scripted"),
        "content": content,
        "stop_reason": "tool_use" if isinstance(reply, Use) else "end_turn",
        "stop_sequence": None,
        "usage": {"input_tokens": 10, "output_tokens": getattr(reply, "tokens", 0)},
    }


def _in_two(block: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A block as a stream has it: empty first, then what is in it."""
    if block["type"] == "text":
        return {"type": "text", "text": ""}, {"type": "text_delta", "text": block["text"]}
    arguments = json.dumps(block["input"])
    return {**block, "input": {}}, {"type": "input_json_delta", "partial_json": arguments}
