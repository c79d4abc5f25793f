"""Who sent this mail? Facts in, a verdict out; nothing is looked up here.

Only an aligned pass shows a From address to be true: a DKIM signature, or SPF of the MAIL FROM domain, of the
same domain or organization as the one From address. The domain's DMARC record says how strictly that is
meant; none is needed. A thread, a token or a name in a mail shows nothing.

SPF for the From mailbox itself shows that its owner's server sent the mail to us. A signature shows only who
wrote it, once, to whomever: it counts if what it covers binds the mail to us, and so does SPF for another
mailbox of the same domain, where servers forward from one to the other. What is not bound is asked about.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from webordinary.core.addresses import is_ours
from webordinary.core.errors import BadInput
from webordinary.core.mail import (
    Authenticated,
    Authentication,
    NotAuthenticated,
    ParsedMail,
    SignedOnly,
    SignedParts,
)
from webordinary.ports.mail_checks import Checks, Signature, Spf, Upstream

LOOPBACK = (ip_address("127.0.0.1"), ip_address("::1"))
MICROSOFT = "microsoft365"  # a name for who writes none
_WILDCARD = re.compile(r"\*(?:\.[a-z0-9-]+){2,}", re.ASCII | re.IGNORECASE)
ENFORCED = ("quarantine", "reject")
SIGNED = ("from", "subject", "date", "message-id")  # what a signature has to cover to count by itself
DAY_SECONDS = 86_400.0
SIGNATURE_SECONDS_MAX = 7 * DAY_SECONDS  # servers try for five days; what is older may be somebody's archive
SIGNATURE_SECONDS_AHEAD = DAY_SECONDS


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose word counts besides the sender's own domain. By default nobody's."""

    upstream: tuple[str, ...] = ()  # servers before us, by the authserv-id they write, or *.example.com
    upstream_peers: tuple[str, ...] = ()  # where they connect from: 192.0.2.0/24; a mailbox has no peer
    loopback: bool = False  # for a local try-out: whoever connects from this machine is who they say
    addresses: tuple[str, ...] = ()  # our own; a mail that rests on a signature has to name one of them

    def __post_init__(self) -> None:
        """Refuse what could never match, and so would only look like a setting."""
        for peer in self.upstream_peers:
            try:
                ip_network(peer)
            except ValueError as error:
                raise BadInput(f"{peer!r} is no IP address and no network such as 192.0.2.0/24") from error
        for name in self.upstream:
            if "*" in name and not _WILDCARD.fullmatch(name):
                raise BadInput(f"{name!r} is no name of servers such as *.messagingengine.com")
        if self.upstream_peers and not self.upstream:
            raise BadInput("peers of an upstream need its name, the authserv-id it writes")

    def is_upstream(self, peer: str) -> bool:
        """Say whether the mail came through the upstream: from its address, or out of a mailbox it fills."""
        if not self.upstream:
            return False
        address = _address(peer)
        if address is None:
            return not peer
        return any(address in ip_network(network) for network in self.upstream_peers)

    def word(self, checks: Checks) -> Upstream | None:
        """Pick what a server before us said that is trusted, of all that the headers say."""
        said = checks.upstream
        if said is None:
            return None
        if said.server in self._named or (not said.server and MICROSOFT in self._named):
            return said
        hosts = tuple(name.removeprefix("*") for name in self._named if name.startswith("*."))
        return checks.upstream_run if hosts and said.server.endswith(hosts) else None

    @property
    def _named(self) -> frozenset[str]:
        return frozenset(name.lower() for name in self.upstream) - {""}

    def ours(self, addresses: Iterable[str]) -> tuple[str, ...]:
        """Pick our own addresses and their plus-addresses out of others."""
        return tuple(one for one in addresses if is_ours(one, *self.addresses))

    def is_local(self, peer: str) -> bool:
        """Say whether the mail was handed over by this machine, and that is to be believed."""
        return self.loopback and _address(peer) in LOOPBACK


def authenticate(mail: ParsedMail, checks: Checks, trust: Trust) -> Authentication:
    """Decide whether the From address was shown to be true."""
    if checks.from_address != mail.from_address:
        return NotAuthenticated("the checks are about another From address than the one that was read")
    if checks.doubt:
        return NotAuthenticated(f"the sender can't be told for sure: {checks.doubt}")
    if trust.is_upstream(checks.peer):
        return _through_upstream(mail, checks, trust)
    if trust.is_local(checks.peer):
        return Authenticated(mail.from_address, "loopback, trusted by a setting")
    question = _Question(mail, checks, trust)
    by_spf = question.by_spf(checks.spf, strict=_strict_spf(checks))
    found = _best(by_spf, question.by_signatures(checks.signatures))
    return found or _refusal(mail, checks, checks.spf)


# --- through an upstream --------------------------------------------------------------------------


def _through_upstream(mail: ParsedMail, checks: Checks, trust: Trust) -> Authentication:
    """Decide by what the upstream says, then by DKIM. SPF of our own would only be about the upstream."""
    question, said = _Question(mail, checks, trust), trust.word(checks)
    verdict: Authentication | None = None
    if said is None:
        names = " or ".join(trust.upstream)
        spf = Spf(note=f"the topmost Authentication-Results header is not one of {names}")
    elif refused := _refused(mail, said):
        return NotAuthenticated(f"{said.server or MICROSOFT} says that DMARC {refused}")
    else:
        spf, verdict = said.spf, _said(question, said)
    return _best(verdict, question.by_signatures(checks.signatures)) or _refusal(mail, checks, spf)


def _refused(mail: ParsedMail, said: Upstream) -> str:
    if said.dmarc == "pass" and said.dmarc_domain != mail.from_domain:
        return "passed, but for another From domain"
    return "failed" if said.dmarc == "fail" else ""


def _said(question: _Question, said: Upstream) -> Authentication | None:
    """Take an upstream's word; None if it has none that decides.

    It says who wrote a mail. Whether that was to us is read from the signature header that it verified.
    """
    mail, checks = question.mail, question.checks
    passed = said.dmarc == "pass"  # then the upstream looked at alignment, too
    by_spf = question.by_spf(said.spf, strict=not passed and _strict_spf(checks))
    strict = not passed and _strict_dkim(checks)
    by_other: Authentication | None = None
    if passed or any(
        not one.problem and _aligned(mail, checks, one, strict=strict) for one in said.signatures
    ):
        claimed = [one for one in checks.claimed if _aligned(mail, checks, one, strict=strict)]
        if any(not one.domain for one in checks.claimed):
            by_other = _unbound("it has a signature that can't be read, and that may be the good one")
        elif claimed:
            by_other = question.by_signature(_common(claimed))
        elif passed and said.spf == Spf() and not said.signatures and not checks.claimed:
            by_other = question.by_path(f"dmarc {mail.from_domain}")
        else:
            by_other = _unbound("it has no signature that could be looked at")
    verdict = _best(by_spf, by_other)
    if isinstance(verdict, Authenticated):
        proof = f"dmarc {mail.from_domain}" if passed else verdict.by
        return replace(verdict, by=f"{proof}, says {said.server or MICROSOFT}")
    return verdict


def _common(claimed: list[Signature]) -> Signature:
    """What several signatures have in common: the upstream does not say which of them it verified."""
    parts = SignedParts(
        frozenset.intersection(*(one.parts.headers for one in claimed)),
        any(one.parts.relaxed_body for one in claimed),
    )
    ages = [one.age_seconds for one in claimed if one.age_seconds is not None]
    age = max(ages, key=abs) if len(ages) == len(claimed) else None
    problem = next((one.problem for one in claimed if one.problem), "")
    return Signature(claimed[0].domain, claimed[0].organization, problem, parts, age)


# --- what a proof is good for ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Question:
    """Whether a mail is shown to be from whom it says, and meant for us."""

    mail: ParsedMail
    checks: Checks
    trust: Trust

    def by_spf(self, spf: Spf, *, strict: bool) -> Authentication | None:
        """Judge SPF; None if it shows nothing."""
        if spf.result != "pass" or not _aligned(self.mail, self.checks, spf, strict=strict):
            return None
        if spf.mailbox == self.mail.from_address:
            return Authenticated(self.mail.from_address, f"spf {spf.domain}")
        return self.by_path(f"spf {spf.domain}")

    def by_path(self, proof: str) -> Authentication:
        """Believe a domain's own servers, unless they may only forward a mail that was for somebody else."""
        if self.trust.ours((*self.checks.to, *self.checks.cc)):
            return Authenticated(self.mail.from_address, proof)
        return _unbound("its To and Cc name none of our addresses")

    def by_signatures(self, signatures: Iterable[Signature]) -> Authentication | None:
        """Judge signatures; None if none of them shows anything."""
        strict = _strict_dkim(self.checks)
        return _best(
            *(
                self.by_signature(signature)
                for signature in signatures
                if not signature.problem and _aligned(self.mail, self.checks, signature, strict=strict)
            )
        )

    def by_signature(self, signature: Signature) -> Authentication:
        """Judge a signature that is good and aligned: is the mail bound to us by it?"""
        covered, age = signature.parts.headers, signature.age_seconds
        open_headers = [name for name in SIGNED if name not in covered]
        if "subject" in open_headers and not self.mail.subject:
            open_headers.remove("subject")
        named = [*(self.checks.to if "to" in covered else ()), *(self.checks.cc if "cc" in covered else ())]
        recipients = self.trust.ours(named)
        if signature.problem:
            return _unbound(f"its signature does not count: {signature.problem}")
        if open_headers:
            return _unbound(f"its signature does not cover {' and '.join(map(str.title, open_headers))}")
        if not self.mail.message_id:
            return _unbound("it has no Message-ID by which a second copy could be known")
        if age is None or not -SIGNATURE_SECONDS_AHEAD <= age <= SIGNATURE_SECONDS_MAX:
            return _unbound("its signature is not from these days")
        if not recipients:
            return _unbound("its signature covers no To or Cc that names one of our addresses")
        return Authenticated(
            self.mail.from_address, f"dkim {signature.domain}", SignedOnly(signature.parts, recipients)
        )


def _best(*verdicts: Authentication | None) -> Authentication | None:
    """Take what shows most: that it came to us by the sender's own way, then what is signed, then a doubt."""
    found = [verdict for verdict in verdicts if verdict is not None]
    good = [verdict for verdict in found if isinstance(verdict, Authenticated)]
    full = [verdict for verdict in good if verdict.signed_only is None]
    return next(iter((*full, *good, *found)), None)


def _unbound(reason: str) -> NotAuthenticated:
    """Doubt a mail that is truly the sender's, but may have been written to somebody else: ask."""
    return NotAuthenticated(f"it may be a copy of a mail to somebody else: {reason}", weak=True)


# --- alignment ------------------------------------------------------------------------------------


def _aligned(mail: ParsedMail, checks: Checks, who: Signature | Spf, *, strict: bool) -> bool:
    """Say whether a domain speaks for the From domain: the same or, if not strict, of one organization."""
    if not who.domain:
        return False
    same = who.domain == mail.from_domain
    return same or (not strict and who.organization != "" and who.organization == checks.organization)


def _strict_dkim(checks: Checks) -> bool:
    return checks.dmarc.strict_dkim or not checks.dmarc.known


def _strict_spf(checks: Checks) -> bool:
    return checks.dmarc.strict_spf or not checks.dmarc.known


# --- refusals, in words for the operator ----------------------------------------------------------


def _refusal(mail: ParsedMail, checks: Checks, spf: Spf) -> NotAuthenticated:
    disowned = spf.result == "fail" and _aligned(mail, checks, spf, strict=False)
    enforced = checks.dmarc.policy in ENFORCED
    words = [_about_dkim(mail, checks), _about_spf(mail, checks, spf), _about_dmarc(mail, checks)]
    reason = f"nothing shows that it is from {mail.from_domain}: " + "; ".join(words)
    return NotAuthenticated(reason, weak=not (disowned or enforced))


def _about_dkim(mail: ParsedMail, checks: Checks) -> str:
    if not checks.signatures:
        return "it has no DKIM signature"
    words = [_about_signature(mail, checks, signature) for signature in checks.signatures]
    if checks.unread:
        words.append(f"{checks.unread} more signatures were not looked at")
    return ", ".join(dict.fromkeys(words))


def _about_signature(mail: ParsedMail, checks: Checks, signature: Signature) -> str:
    whose = f"the DKIM signature of {signature.domain}" if signature.domain else "a DKIM signature"
    if signature.problem:
        return f"{whose} does not count: {signature.problem}"
    return f"{whose} is good, but {_other(mail, checks, signature)}"


def _about_spf(mail: ParsedMail, checks: Checks, spf: Spf) -> str:
    if spf.note:
        return spf.note
    match spf.result:
        case "none":
            return f"{spf.domain} publishes no SPF record" if spf.domain else "SPF says nothing"
        case "pass":
            return f"SPF of {spf.domain} passed, but {_other(mail, checks, spf)}"
        case "fail" | "softfail":
            return f"{spf.domain} says by SPF that this server does not send its mail ({spf.result})"
        case "temperror":
            return f"SPF of {spf.domain} could not be looked up just now"
        case _:
            return f"SPF of {spf.domain} says nothing about this server ({spf.result})"


def _other(mail: ParsedMail, checks: Checks, who: Signature | Spf) -> str:
    if _aligned(mail, checks, who, strict=False):
        accepts = "accepts" if checks.dmarc.known else "may accept"
        return f"{mail.from_domain} {accepts} only its very own name"
    return f"that is not {mail.from_domain}"


def _about_dmarc(mail: ParsedMail, checks: Checks) -> str:
    if not checks.dmarc.known:
        return "its DMARC policy could not be looked up just now"
    if checks.dmarc.policy in ENFORCED:
        return f"and {mail.from_domain} asks by DMARC to {checks.dmarc.policy} such mail"
    return f"{mail.from_domain} publishes no DMARC policy against such mail"


def _address(text: str) -> IPv4Address | IPv6Address | None:
    try:
        address = ip_address(text)
    except ValueError:
        return None
    return address.ipv4_mapped or address if isinstance(address, IPv6Address) else address
