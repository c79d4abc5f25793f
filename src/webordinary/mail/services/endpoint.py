"""The door for mail services: `POST /inbound`, answered 200 when the mail and what became of it are durable.

A mail that can never be taken gets the answer by which its service gives it up; everything else is tried
again by the service, and may be: a mail that comes twice is one mail.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from starlette.applications import Starlette
from starlette.requests import ClientDisconnect
from starlette.requests import Request as HttpRequest
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from webordinary.core.addresses import is_ours
from webordinary.core.errors import BackendUnavailable, BadInput, CannotTellNow
from webordinary.core.mail import Envelope, MailRecord
from webordinary.mail.services.delivery import (
    AHEAD_SECONDS,
    MAIL_BYTES,
    MIB,
    InboundMail,
    InboundRequest,
    MailService,
    NotNow,
    NotSigned,
    PayloadTooLarge,
    RequestRefused,
)
from webordinary.mail.smtp.spool import TOO_LARGE, ReadingRoom, Spool, SpoolRoom
from webordinary.ports.clock import Clock
from webordinary.ports.quotas import HOUR_SECONDS, Bucket, Quotas
from webordinary.system.http_server import ImpatientProtocol, Served, serve_app

log = logging.getLogger("webordinary.gateway")

RECIPIENTS_MAX = 20
CONNECTIONS_MAX = 100
READING_AT_ONCE = 8  # at most; how much at once is the reading room's to say
FETCHING_AT_ONCE = 2  # mails that are not in the request: nobody knows how large they are
BODY_SECONDS = 60.0  # to post a whole request
CLOSING_SECONDS = 10
PASSED_BYTES_MAX = 256 * MIB  # of a refused request, to its end
RETRY_SECONDS = 60  # what a service is told that minds it

Receive = Callable[[bytes, Envelope], Awaitable[MailRecord]]


@dataclass(frozen=True, slots=True)
class InboundListening:
    """Where to listen, and for which mailbox."""

    host: str = "127.0.0.1"
    port: int = 2580
    addresses: tuple[str, ...] = ("edit@localhost",)  # ours, and so are their plus-addresses
    spool_folder: Path | None = None  # None: where this machine has temporary files


class InboundDoor:
    """Listens for mail services and hands each mail to the receive flow."""

    def __init__(
        self,
        listening: InboundListening,
        services: Sequence[MailService],
        receive: Receive,
        quotas: Quotas,
        clock: Clock,
    ) -> None:
        """Listen once `start` is called."""
        self._listening, self._receive, self._quotas, self._clock = listening, receive, quotas, clock
        self._services = {service.name: service for service in services}
        self._threads = ThreadPoolExecutor(READING_AT_ONCE, thread_name_prefix="inbound")
        self._spool_room, self._reading_room = SpoolRoom(listening.spool_folder), ReadingRoom()
        self._fetching = asyncio.Semaphore(FETCHING_AT_ONCE)
        self._served: Served | None = None

    async def start(self, reading_room: ReadingRoom | None = None) -> str:
        """Listen; say where, and for whom. Mails are received in a room that others may share."""
        where = self._listening
        self._reading_room = reading_room or self._reading_room
        # Mailgun posts the raw mail only to an address that ends in "mime".
        paths = ("/inbound", "/inbound/mime", "/inbound/{service}", "/inbound/{service}/mime")
        app = Starlette(routes=[Route(path, self._post, methods=["POST"]) for path in paths])
        try:
            self._served = await serve_app(
                app,
                where.host,
                where.port,
                http=ImpatientProtocol,
                limit_concurrency=CONNECTIONS_MAX,
                timeout_graceful_shutdown=CLOSING_SECONDS,
                headers=[("connection", "close")],  # one request each: nobody may keep one open
            )
        except BackendUnavailable as error:
            raise BadInput(f"{error}, for mail services. Choose another --inbound-port.") from error
        host = f"[{where.host}]" if ":" in where.host else where.host
        return f"http://{host}:{self._served.port}/inbound ({', '.join(self._services)})"

    async def stop(self) -> None:
        """Take no further mail; what is being received is finished first."""
        if self._served is not None:
            await self._served.stop()
        self._threads.shutdown(wait=False, cancel_futures=True)

    async def _post(self, request: HttpRequest) -> Response:
        service = self._service(request)
        if service is None:
            return _answer(404, error="this mail service is not set up here")
        try:
            record = await self._received(service, request)
        except ClientDisconnect:
            return _answer(400, error="the request ended early")  # nobody reads this
        except RequestRefused as refused:
            log.warning("%s: a request was refused: %s", service.name, refused)
            await _hear_out(request)
            return _refusal(service, refused)
        except CannotTellNow as error:
            log.warning("%s: a mail was turned away for now: %s", service.name, error)
            return _later("the sender's address can't be looked up now")
        except BackendUnavailable as error:
            log.warning("%s: a mail was turned away for now: %s", service.name, error)
            return _later("the store is not available now; nothing was kept")
        except Exception:
            log.exception("%s: a mail was turned away for now, by a mistake of ours", service.name)
            return _later("something went wrong here; nothing was lost")
        if record is None:
            return _answer(200, note="this is no mail, and was passed over")
        log.info("%s from %s: %s %s", record.id, record.from_address or "-", record.state, record.reason)
        return _answer(200, kept=record.id)

    def _service(self, request: HttpRequest) -> MailService | None:
        named = request.path_params.get("service")
        return self._services.get(named or _recognised(request.headers))

    async def _received(self, service: MailService, request: HttpRequest) -> MailRecord | None:
        service.check_head(request.headers, self._clock.now())
        with Spool(self._spool_room, "", service.body_bytes_max) as spool:
            await self._spooled(service, request, spool)
            async with contextlib.AsyncExitStack() as held:
                room = self._fetching if service.fetches else self._reading_room.entered(spool.size)
                await held.enter_async_context(room)
                delivery = await self._read(service, request, spool)
                if delivery is None:
                    return None
                if service.fetches:
                    await held.enter_async_context(self._reading_room.entered(len(delivery.raw)))
                await self._bind(service, delivery)
                return await self._receive(delivery.raw, delivery.envelope)

    async def _spooled(self, service: MailService, request: HttpRequest, spool: Spool) -> None:
        """Take the body in, with an eye on how much it is and how long it takes."""
        declared = request.headers.get("content-length", "")
        size = int(declared[:15]) if declared.isdecimal() else 0  # of thousands Python makes no number
        if size <= service.body_bytes_max and not self._spool_room.has("", size):
            raise NotNow("there is no room for so large a mail")
        try:
            async with asyncio.timeout(BODY_SECONDS):
                if size <= service.body_bytes_max:
                    async for chunk in request.stream():
                        spool.write(chunk)
                        if spool.refusal:
                            break
        except TimeoutError as error:
            raise NotNow("posting it took too long") from error
        if size > service.body_bytes_max or spool.refusal == TOO_LARGE:
            raise PayloadTooLarge(f"a request of {service.name} may have {service.body_bytes_max // MIB} MiB")
        if spool.refusal:
            raise NotNow("there is no room for so large a mail")

    async def _read(self, service: MailService, request: HttpRequest, spool: Spool) -> InboundMail | None:
        def reading() -> InboundMail | None:
            return service.read(InboundRequest(request.headers, spool.content()), self._clock.now())

        delivery = await asyncio.get_running_loop().run_in_executor(self._threads, reading)
        return self._for_us(delivery) if delivery else None

    def _for_us(self, delivery: InboundMail) -> InboundMail:
        """Refuse what no recipient of is ours, as SMTP would."""
        if not delivery.raw:
            raise RequestRefused("the mail is empty")
        if len(delivery.raw) > MAIL_BYTES:
            raise PayloadTooLarge(f"the mail has more than {MAIL_BYTES // MIB} MiB")
        named = (address.rpartition("<")[2].strip("> ") for address in delivery.envelope.recipients)
        our_own = self._listening.addresses
        ours = tuple(dict.fromkeys(address for address in named if is_ours(address, *our_own)))
        if not ours:
            raise RequestRefused("there is no such mailbox here")
        return replace(delivery, envelope=replace(delivery.envelope, recipients=ours[:RECIPIENTS_MAX]))

    async def _bind(self, service: MailService, delivery: InboundMail) -> None:
        """Let a signature's token be good for one mail: the same again is welcome, another one is refused.

        It is a quota of one. Taken before the mail is received, so that of two at once only one gets on;
        and free for the same mail, so that one we failed to take may come again.
        """
        content = hashlib.sha256(delivery.raw)
        content.update(repr(delivery.envelope.recipients).encode("utf-8", "surrogatepass"))
        token = hashlib.sha256(delivery.token.encode("utf-8", "surrogatepass")).hexdigest()
        remembered = service.signature_seconds + AHEAD_SECONDS
        bucket = Bucket(f"inbound {service.name} {token}", burst=1, per_hour=HOUR_SECONDS / remembered)
        if await self._quotas.spend([bucket], content.hexdigest()) is not None:
            raise RequestRefused("its signature was used for another mail already")


def _recognised(headers: Mapping[str, str]) -> str:
    """Tell whose request it is at the plain address. Whether it really is theirs is checked afterwards."""
    signs = {
        "svix-signature": "resend",
        "webhook-signature": "resend",
        "x-twilio-email-event-webhook-signature": "sendgrid",
        "x-webordinary-signature": "cloudflare",
        "authorization": "postmark",
    }
    return next((name for header, name in signs.items() if header in headers), "mailgun")


async def _hear_out(request: HttpRequest) -> None:
    """Let the rest of a refused request pass by: who is hung up on while talking does not hear the answer."""
    passed = 0
    with contextlib.suppress(ClientDisconnect, TimeoutError, RuntimeError):  # the last: all of it was read
        async with asyncio.timeout(BODY_SECONDS):
            async for chunk in request.stream():
                passed += len(chunk)
                if passed > PASSED_BYTES_MAX:
                    return


def _refusal(service: MailService, refused: RequestRefused) -> Response:
    match refused:
        case NotSigned():
            return _answer(401, error=str(refused))
        case NotNow():
            return _later(str(refused))
        case PayloadTooLarge():
            status = service.final_status or 413
        case _:
            status = service.final_status or 422
    response = _answer(status, error=str(refused))
    response.headers["webhook-delivery"] = "abort-message"  # Svix's word for: give it up
    return response


def _later(text: str) -> Response:
    response = _answer(503, error=f"{text}; try again later")
    response.headers["retry-after"] = str(RETRY_SECONDS)
    return response


def _answer(status: int, **words: str) -> Response:
    return JSONResponse(words, status, {"cache-control": "no-store"})
