"""All checks of one mail, on a thread of their own and in bounded time."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from webordinary.core.mail import Envelope
from webordinary.mail.checks.authentication_results import read_upstream, read_upstream_run
from webordinary.mail.checks.dkim_check import (
    SIGNATURES_MAX,
    UNANSWERED,
    check_signatures,
    claimed_signatures,
)
from webordinary.mail.checks.dmarc import dmarc_of, organization
from webordinary.mail.checks.headers import (
    Ambiguous,
    Message,
    read_message,
    recipients_of,
    sender_of,
)
from webordinary.mail.checks.resolvers import LookupBudget
from webordinary.mail.checks.spf_check import check_spf
from webordinary.ports.clock import Clock
from webordinary.ports.mail_checks import Checks, Dmarc, MailChecks
from webordinary.ports.resolver import Resolver

log = logging.getLogger("webordinary.mail_checks")

SECONDS = 10.0  # for all lookups of one mail
GRACE_SECONDS = 10.0  # beyond that, for the last lookup and for verifying; then the mail is answered without
LOOKUPS_MAX = 60  # SPF may take 10 and what they lead to; DMARC 2; each signature 1
THREADS = 32  # they wait for a stranger's name servers


class OriginChecks:
    """Evaluates SPF, DKIM and DMARC, and reads what the server before us says. See `MailChecks`."""

    def __init__(self, resolver: Resolver, clock: Clock, *, seconds: float = SECONDS) -> None:
        """Ask this resolver, for so many seconds per mail."""
        self._resolver, self._clock, self._seconds = resolver, clock, seconds
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="mail-checks")

    async def check(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
        """See `MailChecks.check`."""
        work = partial(self._checked, raw, envelope, from_address)
        try:
            async with asyncio.timeout(self._seconds + GRACE_SECONDS):
                return await asyncio.get_running_loop().run_in_executor(self._threads, work)
        except TimeoutError:
            return Checks(from_address, peer=envelope.peer, doubt="its checks took too long", unsure=True)

    def close(self) -> None:
        """Let go of the threads, without waiting for what they do."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _checked(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
        now = self._clock.now()
        message, known = _read(raw, envelope, from_address, now)
        if message is None:
            return known
        until = time.monotonic() + self._seconds
        budget = LookupBudget(self._resolver, lookups=LOOKUPS_MAX, until=until, monotonic=time.monotonic)
        try:
            return _asked(message, envelope, known, budget, now)
        except Exception as error:
            log.exception("the checks of a mail failed")
            return replace(known, doubt=f"its checks failed ({type(error).__name__})", unsure=True)


class OfflineChecks:
    """Reads what a mail says and asks nobody."""

    def __init__(self, clock: Clock | None = None) -> None:
        """Without a clock nobody knows how old a signature is, so none is new enough to count by itself."""
        self._clock = clock

    async def check(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
        """See `MailChecks.check`."""
        now = self._clock.now() if self._clock else None
        return replace(_read(raw, envelope, from_address, now)[1], dmarc=Dmarc(known=False))


class ChecksWhereNeeded:
    """Asks nobody about mail whose peer is believed anyway: a try-out needs no network, and no waiting."""

    def __init__(self, checks: MailChecks, is_believed: Callable[[str], bool]) -> None:
        """Leave all other mail to these checks."""
        self._checks, self._is_believed = checks, is_believed
        self._offline = OfflineChecks()

    async def check(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
        """See `MailChecks.check`."""
        checks = self._offline if self._is_believed(envelope.peer) else self._checks
        return await checks.check(raw, envelope, from_address)


def _read(
    raw: bytes, envelope: Envelope, from_address: str, now: float | None
) -> tuple[Message | None, Checks]:
    """Read the mail strictly. No message: it can be read in more than one way."""
    known = Checks(from_address, peer=envelope.peer)
    try:
        message = read_message(raw)
        sender = sender_of(message)
    except Ambiguous as error:
        return None, replace(known, doubt=str(error))
    if f"{sender.local}@{sender.domain}".lower() != from_address:
        return None, replace(known, doubt="a From header in which two readers see two addresses")
    return message, replace(
        known,
        organization=organization(sender.domain),
        claimed=claimed_signatures(message, now),
        to=recipients_of(message, "to"),
        cc=recipients_of(message, "cc"),
        upstream=read_upstream(message),
        upstream_run=read_upstream_run(message),
    )


def _asked(message: Message, envelope: Envelope, known: Checks, resolver: Resolver, now: float) -> Checks:
    """Look things up: what decides most first, for a stranger's names may use up the time."""
    from_domain = known.from_address.rpartition("@")[2]
    dmarc = dmarc_of(from_domain, resolver)
    signatures = check_signatures(message, from_domain, resolver, now)
    spf = check_spf(envelope, resolver)
    unanswered = {one.organization for one in signatures if one.problem == UNANSWERED}
    if spf.result == "temperror":
        unanswered.add(spf.organization)
    return replace(
        known,
        dmarc=dmarc,
        signatures=signatures,
        spf=spf,
        unsure=not dmarc.known or known.organization in unanswered,
        unread=max(0, len(message.named("dkim-signature")) - SIGNATURES_MAX),
    )
