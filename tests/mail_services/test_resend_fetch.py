"""Resend says which mail came in, and we fetch it: from Resend alone, and never too much or for too long."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.mail_services.conftest import Room, written
from tests.mail_services.services import POST, Handed, resend_mails, resend_signed
from webordinary.mail.services import resend
from webordinary.mail.services.delivery import MAIL_BYTES, NotNow, PayloadTooLarge, RequestRefused
from webordinary.mail.services.resend import ResendApi

Serving = Callable[[BaseHTTPRequestHandler], None]


class Api:
    """An API that answers as a test wants it to."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, str | None]] = []
        self.answers: dict[str, Serving] = {}
        api = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                api.asked.append((self.path, self.headers.get("Authorization")))
                api.answers[self.path](self)

            def log_message(self, *_: object) -> None:
                """Say nothing."""

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}"

    def fetch(self, email_id: str = "mail-1") -> bytes:
        return ResendApi(self.address, "re_key").fetch(email_id)

    def names(self, address: object) -> None:
        """Say where the mail is."""
        self.answers["/emails/receiving/mail-1"] = answer(
            json.dumps({"raw": {"download_url": address}}).encode()
        )


def answer(body: bytes, status: int = 200, **headers: str) -> Serving:
    def serve(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in headers.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(body)

    return serve


@pytest.fixture
def api() -> Iterator[Api]:
    made = Api()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def test_the_key_is_for_the_api_and_not_for_where_the_mail_is(api: Api) -> None:
    api.names(f"{api.address}/raw?signature=x")
    api.answers["/raw?signature=x"] = answer(b"a mail")
    assert api.fetch() == b"a mail"
    assert api.asked == [("/emails/receiving/mail-1", "Bearer re_key"), ("/raw?signature=x", None)]


@pytest.mark.parametrize(
    "address",
    [
        "http://169.254.169.254/latest/meta-data/",
        "http://localhost/secret",
        "https://localhost/secret",
        "https://10.0.0.1/x",
        "https://evilresend.com/x",
        "https://resend.com.evil.example/x",
        "https://resend.com@evil.example/x",
        "https://x@inbound-cdn.resend.com/x",
        "https://inbound-cdn.resend.com:22/x",
        "http://inbound-cdn.resend.com/x",
        "ftp://inbound-cdn.resend.com/x",
        "file:///etc/passwd",
        "https://inbound-cdn.resend.com:port/x",
        "//x",
        "",
        None,
        ["https://inbound-cdn.resend.com/x"],
    ],
)
def test_a_mail_is_fetched_from_resends_own_places_only(api: Api, address: object) -> None:
    """Else whoever could answer for the API could make us ask any machine of our own network."""
    api.names(address)
    with pytest.raises(NotNow):
        api.fetch()
    assert len(api.asked) == 1


@pytest.mark.parametrize("place", ["https://inbound-cdn.resend.com/a?b", "https://d1a2.cloudfront.net/x"])
def test_resends_own_places_are_known(place: str) -> None:
    assert ResendApi("https://api.resend.com", "re_key")._is_theirs(place)


def test_a_redirect_is_not_followed(api: Api) -> None:
    api.names(f"{api.address}/raw")
    api.answers["/raw"] = answer(b"", 302, Location=f"{api.address}/other")
    api.answers["/other"] = answer(b"never")
    with pytest.raises(NotNow, match="302"):
        api.fetch()
    assert len(api.asked) == 2


@pytest.mark.parametrize("status", [401, 404, 429, 500])
def test_an_api_that_refuses_is_asked_again_later(api: Api, status: int) -> None:
    api.answers["/emails/receiving/mail-1"] = answer(b"{}", status)
    with pytest.raises(NotNow, match=str(status)):
        api.fetch()


@pytest.mark.parametrize("body", [b"", b"[", b"[" * 100_000, b"[]", b"{}", b'{"raw": null}', b'{"raw": {}}'])
def test_an_answer_of_any_kind_is_no_mail(api: Api, body: bytes) -> None:
    api.answers["/emails/receiving/mail-1"] = answer(body)
    with pytest.raises(NotNow):
        api.fetch()


def test_a_mail_that_is_too_large_is_not_fetched_to_its_end(api: Api) -> None:
    api.names(f"{api.address}/raw")

    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.end_headers()
        with suppress(OSError):  # we hang up
            for _ in range(4 * MAIL_BYTES >> 20):
                handler.wfile.write(b" " * (1 << 20))

    api.answers["/raw"] = endless
    with pytest.raises(PayloadTooLarge):
        api.fetch()


def test_a_mail_that_comes_too_slowly_is_left(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """The webhook is given up after 15 seconds, and comes again."""
    monkeypatch.setattr(resend, "FETCH_SECONDS", 0.1)
    monkeypatch.setattr(resend, "ANSWER_SECONDS", 0.2)
    gone = threading.Event()

    def say_nothing(_: BaseHTTPRequestHandler) -> None:
        gone.wait(5)

    api.names(f"{api.address}/raw")
    api.answers["/raw"] = say_nothing
    with pytest.raises(NotNow):
        api.fetch()
    gone.set()


@pytest.mark.parametrize("email_id", ["", "../keys", "a/b", "a?b", "a" * 65, "None ", "ä"])
def test_an_id_is_never_part_of_another_address(api: Api, email_id: str) -> None:
    with pytest.raises(RequestRefused):
        api.fetch(email_id)
    assert api.asked == []


async def test_a_mail_that_can_not_be_fetched_now_is_asked_for_again(room: Room) -> None:
    posted = POST["resend"](Handed(written()))
    kept = dict(resend_mails)
    resend_mails.clear()
    assert (await room.post(posted)).status_code == 503
    resend_mails.update(kept)
    assert (await room.post(posted)).status_code == 200
    assert len(await room.jobs()) == 1


async def test_a_mail_without_a_number_is_given_up(room: Room) -> None:
    for data in (b"{}", b"null", b'{"email_id": "../x"}'):
        event = b'{"type": "email.received", "data": %s}' % data
        answer = await room.post(resend_signed(Handed(b""), event))
        assert (answer.status_code, answer.headers["webhook-delivery"]) == (422, "abort-message")
