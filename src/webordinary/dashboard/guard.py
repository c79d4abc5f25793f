"""Who may change anything, which names we answer to, and what a browser may do with our pages.

Reading needs no token: we listen on loopback only, and no other site's script can read our answers. Changing
anything needs the token that `up` prints, as a bearer token or as a cookie that is derived from it.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Sequence

from starlette.datastructures import MutableHeaders
from starlette.requests import HTTPConnection, Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webordinary.core.errors import BadInput, NotAllowed

BODY_BYTES_MAX = 12 * 1024 * 1024  # a mail with a photo
TOKEN_CHARACTERS_MIN = 16
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf"
COOKIE_SECONDS = 30 * 24 * 3600
# For bytes of strangers: shown as they are or saved, never run, whatever they say they are.
STRANGERS_POLICY = "sandbox; default-src 'none'; frame-ancestors 'none'"


class SignInNeeded(NotAllowed):
    """Changing anything needs the token."""


class ForeignRequest(NotAllowed):
    """Another page, not ours, made the browser ask for this."""


class TooLarge(BadInput):
    """More bytes than we take."""


class Keeper:
    """Knows the token, and whoever shows it."""

    def __init__(self, token: str) -> None:
        """Let in who has this token."""
        if len(token) < TOKEN_CHARACTERS_MIN:
            raise BadInput(f"the dashboard's token needs at least {TOKEN_CHARACTERS_MIN} characters")
        self._token = token
        # Named after the token: two dashboards on one machine share their cookies, ports do not part them.
        self.cookie_name = f"webordinary-{self._derived('name')[:8]}"
        self.cookie_value = self._derived("cookie")
        self.csrf = self._derived("csrf")

    def is_token(self, given: str) -> bool:
        """Compare in constant time."""
        return hmac.compare_digest(given.encode(errors="replace"), self._token.encode())

    def signed_in(self, connection: HTTPConnection) -> bool:
        """Whether the browser has shown the token before."""
        given = connection.cookies.get(self.cookie_name, "")
        return hmac.compare_digest(given.encode(errors="replace"), self.cookie_value.encode())

    def admit(self, request: Request, csrf: str = "") -> None:
        """Let a change through, or say why not."""
        scheme, _, bearer = request.headers.get("authorization", "").partition(" ")
        if scheme.lower() == "bearer":
            if not self.is_token(bearer.strip()):
                raise SignInNeeded("this is not the token that `webordinary up` printed; nothing was changed")
            return
        if not self.signed_in(request):
            raise SignInNeeded(
                "changing anything needs the token that `webordinary up` printed; nothing was changed"
            )
        check_origin(request)
        given = csrf or request.headers.get(CSRF_HEADER, "")
        if not hmac.compare_digest(given.encode(errors="replace"), self.csrf.encode()):
            raise ForeignRequest("this form is not from this page, or too old; load the page again")

    def sign_in(self, response: Response) -> Response:
        """Have the browser remember. A site on another port is the same site to it: hence the CSRF field."""
        response.set_cookie(
            self.cookie_name, self.cookie_value, max_age=COOKIE_SECONDS, httponly=True, samesite="strict"
        )
        return response

    def sign_out(self, response: Response) -> Response:
        """Have the browser forget."""
        response.delete_cookie(self.cookie_name, httponly=True, samesite="strict")
        return response

    def _derived(self, purpose: str) -> str:
        return hmac.new(self._token.encode(), f"dashboard {purpose}".encode(), hashlib.sha256).hexdigest()


def check_origin(request: Request) -> None:
    """Refuse what another origin sent, a site on another port of this machine included."""
    origin = request.headers.get("origin", "")
    if origin not in {f"http://{request.url.netloc}", f"https://{request.url.netloc}"}:
        raise ForeignRequest("another site asked for this; nothing was changed")


class Guard:
    """Around the whole app: names, sizes, and headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Sequence[str], frames: str) -> None:
        """Answer to these names; pages may frame this one origin, or none."""
        self._app, self._hosts = app, frozenset(hosts)
        frames = frames or "'none'"
        self._headers = {
            "content-security-policy": (
                "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
                "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; "
                f"frame-src {frames}"
            ),
            "x-content-type-options": "nosniff",
            "x-frame-options": "DENY",
            "referrer-policy": "same-origin",  # with none, a browser hides the origin of our own forms too
            "cross-origin-opener-policy": "same-origin",
            "cross-origin-resource-policy": "same-origin",
            "permissions-policy": "camera=(), geolocation=(), microphone=()",
            "cache-control": "no-store",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self._headers.items():
                    headers.setdefault(name, value)
            await send(message)

        refusal = self._refusal(HTTPConnection(scope))
        if refusal is not None:
            await refusal(scope, receive, with_headers)
        else:
            await self._app(scope, _bounded(receive), with_headers)

    def _refusal(self, connection: HTTPConnection) -> Response | None:
        """A name that an attacker made to lead to this machine is not one of ours (DNS rebinding)."""
        host = connection.headers.get("host", "")
        name = host.rpartition(":")[0] if host.rpartition(":")[2].isdecimal() else host
        if name.lower() not in self._hosts:
            return PlainTextResponse("This page answers only to the address that `up` printed.\n", 421)
        length = connection.headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > BODY_BYTES_MAX:
            return PlainTextResponse(f"At most {BODY_BYTES_MAX // 2**20} MB are taken.\n", 413)
        return None


def _bounded(receive: Receive) -> Receive:
    """Count what comes in, for bodies that do not say how long they are."""
    taken = 0

    async def bounded() -> Message:
        nonlocal taken
        message = await receive()
        taken += len(message.get("body", b""))
        if taken > BODY_BYTES_MAX:
            raise TooLarge(f"at most {BODY_BYTES_MAX // 2**20} MB are taken; nothing was changed")
        return message

    return bounded
