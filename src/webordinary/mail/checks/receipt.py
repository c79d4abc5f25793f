"""What the cloud's mail service found out about a mail when it took it in: the verdicts of its receipt.

The receipt comes with the event, from the service itself. Nothing is believed that stands in the mail.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from webordinary.core.mail import Envelope
from webordinary.mail.checks.checks import OfflineChecks
from webordinary.mail.checks.dmarc import organization
from webordinary.mail.checks.headers import plain_address
from webordinary.ports.clock import Clock
from webordinary.ports.mail_checks import Checks, Dmarc, Signature, Spf, Upstream

SERVER = "the mail service"  # as what its word is believed; no header can claim it

_SPF = {"PASS": "pass", "FAIL": "fail", "GRAY": "none", "PROCESSING_FAILED": "temperror"}
_DMARC = {"PASS": "pass", "FAIL": "fail"}


@dataclass(frozen=True, slots=True)
class SesReceipt:
    """The verdicts: PASS, FAIL, GRAY (nothing to go by) or PROCESSING_FAILED each; "" if there is none."""

    spf: str = ""  # of the MAIL FROM domain
    dkim: str = ""  # of some signature; it does not say whose, so it proves nothing by itself
    dmarc: str = ""  # of the From domain: SPF or DKIM passed, and is aligned with it
    virus: str = ""
    policy: str = ""  # what the From domain asks for where DMARC failed

    @classmethod
    def read(cls, receipt: Mapping[str, object]) -> SesReceipt:
        """Read it from the service's event; what is missing or odd is no verdict."""

        def status(name: str) -> str:
            verdict = receipt.get(name)
            found = verdict.get("status") if isinstance(verdict, Mapping) else None
            return found.upper() if isinstance(found, str) else ""

        policy = receipt.get("dmarcPolicy")
        return cls(
            status("spfVerdict"),
            status("dkimVerdict"),
            status("dmarcVerdict"),
            status("virusVerdict"),
            policy.lower() if isinstance(policy, str) else "",
        )


class ReceiptChecks:
    """See `MailChecks`: the mail is only read for what could be read in two ways; the rest is the receipt."""

    def __init__(self, receipt: SesReceipt, clock: Clock) -> None:
        """Check one mail."""
        self._receipt = receipt
        self._offline = OfflineChecks(clock)

    async def check(self, raw: bytes, envelope: Envelope, from_address: str) -> Checks:
        """See `MailChecks.check`. What the mail's own headers say of its checks is thrown away."""
        read, said = await self._offline.check(raw, envelope, from_address), self._receipt
        doubt = read.doubt or ("the mail service found a virus in it" if said.virus == "FAIL" else "")
        sender = plain_address(envelope.mail_from)
        spf = Spf(_SPF.get(said.spf, "none"))
        if sender is not None:
            # Where the service did not look at alignment, only the very same domain counts.
            above = organization(sender.domain) if said.dmarc == "PASS" else ""
            mailbox = f"{sender.local}@{sender.domain}".lower()
            spf = Spf(spf.result, sender.domain, above, mailbox=mailbox)
        return replace(
            read,
            doubt=doubt,
            spf=spf,
            signatures=_signatures(said.dkim),
            dmarc=Dmarc(policy=said.policy, known=said.dmarc in ("PASS", "FAIL", "GRAY")),
            upstream=Upstream(
                SERVER,
                dmarc=_DMARC.get(said.dmarc, ""),
                dmarc_domain=from_address.rpartition("@")[2] if said.dmarc == "PASS" else "",
                spf=spf,
            ),
        )


def _signatures(dkim: str) -> tuple[Signature, ...]:
    """Words for the operator; none of them counts."""
    problems = {"PASS": "the mail service does not say whose it is", "FAIL": "it is not valid"}
    return (Signature("", problem=problems[dkim]),) if dkim in problems else ()
