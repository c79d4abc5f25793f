"""A recorder between a process of ours and the emulated cloud: what it did there, and to what."""

from __future__ import annotations

import contextlib
import http.client
import json
import re
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

from tests.waiting import HANG_SECONDS

REGION, ACCOUNT = "us-east-1", "000000000000"
Need = tuple[str, str]  # an action, and the resource it is done to

_SERVICE = re.compile(r"Credential=[^/]+/\d+/[^/]+/([a-z0-9-]+)/aws4_request")
_TRANSACTED = {
    "Put": "PutItem",
    "Delete": "DeleteItem",
    "Update": "UpdateItem",
    "ConditionCheck": "ConditionCheckItem",
}
_TO_OBJECTS = {"GET": "s3:GetObject", "PUT": "s3:PutObject", "DELETE": "s3:DeleteObject"}
_NOT_HANDED_ON = ("transfer-encoding", "content-length", "connection", "date", "server")


class Recorder:
    """What one role needed."""

    def __init__(self) -> None:
        self.needed: set[Need] = set()

    def heard(self, method: str, path: str, headers: Any, body: bytes) -> None:  # noqa: ANN401 - as the server has them
        found = _SERVICE.search(headers.get("Authorization", ""))
        assert found, f"an unsigned call: {method} {path}"
        match found[1]:
            case "dynamodb":
                self.needed |= set(_tables(_operation(headers), json.loads(body)))
            case "sqs":
                self.needed.add(_queue(_operation(headers), json.loads(body)))
            case "states":
                self.needed.add(_states(_operation(headers), json.loads(body)))
            case "s3":
                self.needed |= set(_objects(method, path, headers, body))
            case "ses":
                assert (method, path) == ("POST", "/v2/email/outbound-emails"), path
                self.needed.add(("ses:SendEmail", f"arn:aws:ses:{REGION}:{ACCOUNT}:identity/any"))
            case other:
                self.needed.add((f"{other}:?", path))


def _operation(headers: Any) -> str:  # noqa: ANN401 - the same
    return str(headers["X-Amz-Target"]).rpartition(".")[2]


def _tables(operation: str, given: dict[str, Any]) -> Iterator[Need]:
    def table(name: str, index: str | None = None) -> str:
        arn = f"arn:aws:dynamodb:{REGION}:{ACCOUNT}:table/{name}"
        return f"{arn}/index/{index}" if index else arn

    match operation:
        case "TransactWriteItems":
            for one in given["TransactItems"]:
                for kind, write in one.items():
                    yield f"dynamodb:{_TRANSACTED[kind]}", table(write["TableName"])
        case "BatchGetItem":
            for name in given["RequestItems"]:
                yield "dynamodb:BatchGetItem", table(name)
        case _:
            yield f"dynamodb:{operation}", table(given["TableName"], given.get("IndexName"))


def _queue(operation: str, given: dict[str, Any]) -> Need:
    name = given.get("QueueName") or str(given.get("QueueUrl", "*")).rpartition("/")[2]
    return f"sqs:{operation}", f"arn:aws:sqs:{REGION}:{ACCOUNT}:{name}"


def _states(operation: str, given: dict[str, Any]) -> Need:
    return f"states:{operation}", given.get("stateMachineArn", "*")


def _objects(method: str, path: str, headers: Any, body: bytes) -> Iterator[Need]:  # noqa: ANN401 - the same
    parts, asked = urlsplit(path), parse_qs(urlsplit(path).query, keep_blank_values=True)
    bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
    arn = f"arn:aws:s3:::{bucket}"
    if "x-amz-copy-source" in headers:
        yield "s3:GetObject", f"arn:aws:s3:::{unquote(headers['x-amz-copy-source'])}"
    if not key and "delete" in asked:
        for name in re.findall(rb"<Key>(.*?)</Key>", body):
            yield "s3:DeleteObject", f"{arn}/{name.decode()}"
    elif not key:
        yield {"GET": "s3:ListBucket", "HEAD": "s3:ListBucket"}.get(method, f"s3:{method}"), arn
    else:
        yield _TO_OBJECTS[method], f"{arn}/{key}"


@contextlib.contextmanager
def recording(endpoint: str) -> Iterator[tuple[str, Recorder]]:
    """Listen on loopback, hand everything on, and write down what was needed."""
    recorder, target = Recorder(), urlsplit(endpoint).netloc

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
            recorder.heard(self.command, self.path, self.headers, body)
            with contextlib.closing(http.client.HTTPConnection(target, timeout=HANG_SECONDS)) as line:
                line.request(self.command, self.path, body, dict(self.headers))
                answer = line.getresponse()
                content = answer.read()
            self.send_response(answer.status)
            for name, value in answer.getheaders():
                if name.lower() not in _NOT_HANDED_ON:
                    self.send_header(name, value)
            length = answer.getheader("Content-Length") if self.command == "HEAD" else str(len(content))
            self.send_header("Content-Length", length or "0")
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(content)

        def __getattr__(self, name: str) -> Callable[[], None]:
            """All methods are handed on alike."""
            if name.startswith("do_"):
                return self.do
            raise AttributeError(name)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """A process that was ended leaves its long polls."""

    server = Server(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", recorder
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
