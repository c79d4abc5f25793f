"""What large providers write about a mail that they put into a mailbox, each in its own manner."""

from dataclasses import dataclass

import pytest

from tests.authentication.world import OWNER, US, Sent, from_mailbox, letter, verdict
from webordinary.core.mail import Authenticated, NotAuthenticated
from webordinary.intake.authenticate import Trust

RECEIVED = "Received: from mail.victim.example by mx.provider.example; Mon, 6 Apr 2026 09:00:02 +0200"


@dataclass(frozen=True)
class Provider:
    """A provider's setting, and its headers with the result of DMARC and the MAIL FROM left open."""

    setting: str
    headers: tuple[str, ...]

    def wrote(self, dmarc: str = "pass", spf: str = "pass", sender: str = OWNER) -> str:
        texts = (header.strip("\n").replace("\n", "\r\n") for header in self.headers)
        lines = "".join(f"Authentication-Results: {text}\r\n" for text in texts)
        domain = sender.rpartition("@")[2]
        for name, value in (("DMARC", dmarc), ("SPF", spf), ("SENDER", sender), ("DOMAIN", domain)):
            lines = lines.replace(f"<{name}>", value)
        return lines


GMAIL = """
mx.google.com;
       spf=<SPF> (google.com: domain of <SENDER> designates 192.0.2.10 as permitted sender)
       smtp.mailfrom=<SENDER>;
       dmarc=<DMARC> (p=REJECT sp=REJECT dis=NONE) header.from=victim.example
"""
MICROSOFT = """
spf=<SPF> (sender IP is 192.0.2.10)
 smtp.mailfrom=<DOMAIN>; dkim=none (message not signed)
 header.d=none;dmarc=<DMARC> action=none
 header.from=victim.example;compauth=pass reason=100
"""
MICROSOFT_WITH_RECIPIENT = """
spf=<SPF> (sender IP is 192.0.2.10)
 smtp.mailfrom=<DOMAIN>; us.example; dkim=none
 (message not signed) header.d=none;us.example; dmarc=<DMARC>
 action=none header.from=victim.example;
"""
YAHOO = """
atlas-production.v2-mail-prod1-bf1.omega.yahoo.com;
 dkim=unknown;
 spf=<SPF> smtp.mailfrom=<DOMAIN> arc_overridden_status=NOT_OVERRIDDEN;
 dmarc=<DMARC>(p=REJECT,sp=REJECT) header.from=victim.example arc_overridden_status=NOT_OVERRIDDEN;
"""
ZOHO = """
mx.zohomail.com;
\tdkim=none;
\tspf=<SPF> (zohomail.com: domain of victim.example designates 192.0.2.10 as permitted sender)
\t smtp.mailfrom=<SENDER>;
\tdmarc=<DMARC>(p=reject dis=none)  header.from=victim.example
"""
FASTMAIL_FIRST = """
mx3.messagingengine.com;
    x-csa=none;
    x-me-sender=none;
    x-ptr=pass smtp.helo=mail.victim.example
    policy.ptr=mail.victim.example
"""
FASTMAIL_SECOND = """
mx3.messagingengine.com;
    bimi=skipped (DMARC did not pass)
"""
FASTMAIL_THIRD = """
mx3.messagingengine.com;
    dkim=none (no signatures found);
    dmarc=<DMARC> policy.published-domain-policy=reject
    policy.applied-disposition=none (p=reject,d=none)
    policy.policy-from=p header.from=victim.example;
    iprev=pass smtp.remote-ip=192.0.2.10 (mail.victim.example);
    spf=<SPF> smtp.mailfrom=<SENDER> smtp.helo=mail.victim.example
"""
PROVIDERS = {
    "Gmail": Provider("mx.google.com", (GMAIL,)),
    "Microsoft 365": Provider("microsoft365", (MICROSOFT,)),
    "Microsoft 365, naming the recipient's domain": Provider("microsoft365", (MICROSOFT_WITH_RECIPIENT,)),
    "Yahoo": Provider("*.yahoo.com", (YAHOO,)),
    "Zoho": Provider("mx.zohomail.com", (ZOHO,)),
    "Fastmail": Provider("*.messagingengine.com", (FASTMAIL_FIRST, FASTMAIL_SECOND, FASTMAIL_THIRD)),
}
EVERY = pytest.mark.parametrize("provider", PROVIDERS.values(), ids=PROVIDERS)
ALL = Trust(tuple(dict.fromkeys(provider.setting for provider in PROVIDERS.values())))


def mail(*blocks: str, **headers: str) -> Sent:
    """Out of a mailbox, with these headers on top of the mail."""
    top = "".join(block if block.endswith("\r\n") else f"{block}\r\n" for block in blocks)
    return Sent(top.encode() + letter(**headers), OWNER, from_mailbox())


@EVERY
async def test_a_provider_is_believed_by_its_own_setting_and_among_others(provider: Provider) -> None:
    for trust in (Trust((provider.setting,)), ALL):
        result = await verdict(mail(provider.wrote(), RECEIVED), trust)
        assert isinstance(result, Authenticated), result
        assert result.by.startswith("dmarc victim.example, says ")


@EVERY
async def test_without_its_setting_it_is_not(provider: Provider) -> None:
    others = tuple(name for name in ALL.upstream if name != provider.setting)
    assert isinstance(await verdict(mail(provider.wrote(), RECEIVED), Trust(others)), NotAuthenticated)


@EVERY
async def test_what_the_sender_wrote_below_it_counts_for_nothing(provider: Provider) -> None:
    """Every one of these headers can be copied into a mail, name and all."""
    failed = provider.wrote("fail", "fail", "x@evil.example")
    for between in (RECEIVED, "Subject2: x"):
        result = await verdict(mail(failed, between, provider.wrote()), ALL)
        assert isinstance(result, NotAuthenticated)
        assert "DMARC failed" in result.reason


@EVERY
async def test_a_copy_right_below_it_counts_for_nothing_either(provider: Provider) -> None:
    failed = provider.wrote("fail", "fail", "x@evil.example")
    assert isinstance(await verdict(mail(failed, provider.wrote()), ALL), NotAuthenticated)


@EVERY
async def test_a_pass_of_a_forwarded_mail_to_somebody_else_is_asked_about(provider: Provider) -> None:
    """It says who wrote it, not to whom."""
    wrote = provider.wrote(sender="eve@victim.example")
    result = await verdict(mail(wrote, RECEIVED, To="eve@victim.example"), ALL)
    assert isinstance(result, NotAuthenticated)
    assert result.weak
    assert isinstance(await verdict(mail(wrote, RECEIVED, To=US), ALL), Authenticated)


@EVERY
@pytest.mark.parametrize(
    "sender", ["x@evil.example(.victim.example", "victim.example; dmarc=pass", 'a"@b.example']
)
async def test_a_mail_from_that_writes_into_the_header_makes_it_say_nothing(
    provider: Provider, sender: str
) -> None:
    result = await verdict(mail(provider.wrote("none", "pass", sender), RECEIVED), ALL)
    assert isinstance(result, NotAuthenticated)
