"""Who sent this mail? Facts in, a verdict out; nothing is looked up here.

Only an aligned pass shows a From address to be true: a DKIM signature, or SPF of the MAIL FROM domain, of the
same domain or organization as the one From address. The domain's DMARC record says how strictly that is
meant; none is needed. A thread, a token or a name in a mail shows nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from webordinary.core.errors import BadInput
from webordinary.core.mail import Authenticated, Authentication, NotAuthenticated, ParsedMail
from webordinary.ports.mail_checks import Checks, Signature, Spf, Upstream

LOOPBACK = (ip_address("127.0.0.1"), ip_address("::1"))
ENFORCED = ("quarantine", "reject")


@dataclass(frozen=True, slots=True)
class Trust:
    """Whose word counts besides the sender's own domain. By default nobody's."""

    upstream: str = ""  # the authserv-id of the mail server before us, exactly as it writes it
    upstream_peers: tuple[str, ...] = ()  # where it connects from: 192.0.2.0/24; a mailbox has no peer
    loopback: bool = False  # for a local try-out: whoever connects from this machine is who they say

    def __post_init__(self) -> None:
        """Refuse what could never match, and so would only look like a setting."""
        for peer in self.upstream_peers:
            try:
                ip_network(peer)
            except ValueError as error:
                raise BadInput(f"{peer!r} is no IP address and no network such as 192.0.2.0/24") from error
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
    proof = _proof(mail, checks, checks.signatures, checks.spf)
    return Authenticated(mail.from_address, proof) if proof else _refusal(mail, checks, checks.spf)


# --- through an upstream --------------------------------------------------------------------------


def _through_upstream(mail: ParsedMail, checks: Checks, trust: Trust) -> Authentication:
    """Decide by what the upstream says, then by DKIM. SPF of our own would only be about the upstream."""
    said = checks.upstream
    if said is None or said.server != trust.upstream.lower():
        spf = Spf(note=f"the topmost Authentication-Results header is not one of {trust.upstream}")
    elif verdict := _said(mail, checks, said):
        return verdict
    else:
        spf = said.spf
    proof = _proof(mail, checks, checks.signatures, Spf())
    return Authenticated(mail.from_address, proof) if proof else _refusal(mail, checks, spf)


def _said(mail: ParsedMail, checks: Checks, said: Upstream) -> Authentication | None:
    """Take an upstream's word; None if it has none that decides."""
    if said.dmarc == "fail":
        return NotAuthenticated(f"{said.server} says that DMARC failed")
    if said.dmarc == "pass" and said.dmarc_domain != mail.from_domain:
        return NotAuthenticated(f"{said.server} says that DMARC passed, but for another From domain")
    passed = f"dmarc {mail.from_domain}" if said.dmarc == "pass" else ""
    proof = passed or _proof(mail, checks, said.signatures, said.spf)
    return Authenticated(mail.from_address, f"{proof}, says {said.server}") if proof else None


# --- alignment ------------------------------------------------------------------------------------


def _proof(mail: ParsedMail, checks: Checks, signatures: tuple[Signature, ...], spf: Spf) -> str:
    """Name an aligned pass; "" if there is none."""
    for signature in signatures:
        if not signature.problem and _aligned(mail, checks, signature, strict=_strict_dkim(checks)):
            return f"dkim {signature.domain}"
    if spf.result == "pass" and _aligned(mail, checks, spf, strict=_strict_spf(checks)):
        return f"spf {spf.domain}"
    return ""


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
