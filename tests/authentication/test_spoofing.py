"""The spoofing table: every forgery is refused for its reason, and its honest twin is accepted.

The numbers are those of "Composition Kills" (USENIX Security 2020), as its tool espoofer counts them. Not in
the table: `client_a3`, a provider that signs a From of another customer; nobody but that provider can tell.
"""

from dataclasses import replace
from importlib.util import find_spec

import pytest

from tests.authentication.case import Case, StoppedBy
from tests.authentication.cases_dkim import DKIM_CASES
from tests.authentication.cases_envelope import ENVELOPE_CASES
from tests.authentication.cases_from import FROM_CASES
from tests.authentication.cases_upstream import UPSTREAM_CASES
from tests.authentication.world import OWNER, Sent, dkimpy_says, resolver, verdict
from webordinary.core.mail import Authenticated, NotAuthenticated, ParsedMail, UnreadableMail
from webordinary.intake.read import read
from webordinary.intake.signed_view import as_signed
from webordinary.mail.checks.spf_check import _Query

TABLE = [*ENVELOPE_CASES, *FROM_CASES, *DKIM_CASES, *UPSTREAM_CASES]
NUMBERS = {f"a{number}" for number in range(1, 20)} | {"client_a1", "client_a2", "replay"}
MEMBERS = frozenset({OWNER})


def rows(cases: list[Case]) -> list[object]:
    return [
        pytest.param(case, id=f"{case.number} {case.name}".strip(), marks=missing(case)) for case in cases
    ]


def missing(case: Case) -> list[pytest.MarkDecorator]:
    is_missing = bool(case.needs) and find_spec(case.needs) is None
    return [pytest.mark.skip(reason=f"{case.needs} is not installed")] if is_missing else []


def pyspf_says(sent: Sent) -> bool:
    """What pyspf answers when it is given the envelope as it came."""
    query = _Query(i=sent.envelope.peer, s=sent.envelope.mail_from, h=sent.envelope.helo, resolver=resolver())
    return bool(query.check()[0] == "pass")


@pytest.mark.parametrize("case", rows(TABLE))
async def test_a_forgery_is_refused_and_says_why(case: Case) -> None:
    """Whoever can make us believe a From edits somebody else's site."""
    sent = case.forgery()
    match await verdict(sent, case.trust):
        case NotAuthenticated(reason, weak):
            assert case.stopped_by is not StoppedBy.MEMBERSHIP, reason
            assert case.reason in reason
            assert weak is case.weak, reason
        case Authenticated(address):
            assert case.stopped_by is StoppedBy.MEMBERSHIP, "it was believed"
            assert address == case.reason
            assert address not in MEMBERS


@pytest.mark.parametrize("case", rows(TABLE))
async def test_its_honest_twin_is_accepted(case: Case) -> None:
    """A guard that refuses honest mail is a broken product."""
    sent = case.twin()
    result = await verdict(sent, case.trust)
    assert isinstance(result, Authenticated), result
    assert result.address == sent.claimed
    assert result.by.split()[0] in {"dkim", "spf", "dmarc"}


@pytest.mark.parametrize("case", rows([case for case in TABLE if case.fools]))
def test_a_library_alone_would_be_fooled(case: Case) -> None:
    """Shows that the guards are needed; when this fails, a library has learned, and a guard may go."""
    sent = case.forgery()
    assert pyspf_says(sent) if case.fools == "pyspf" else dkimpy_says(sent.raw)


# --- the whole way, through the reader that the product uses ----------------------------------------


@pytest.mark.parametrize("case", rows(TABLE))
async def test_a_forgery_that_is_really_read_is_refused_too(case: Case) -> None:
    """The reader and the checks read the same bytes on their own; between the two nothing slips by."""
    sent = case.forgery()
    mail = read(sent.raw)
    if isinstance(mail, UnreadableMail):
        assert case.stopped_by is not StoppedBy.AUTHENTICATION, mail.reason
        assert mail.reply_to == "", "an unclear sender is nobody to answer"
        return
    assert case.stopped_by is not StoppedBy.READING, mail.from_address
    result = await verdict(replace(sent, claimed=mail.from_address), case.trust, mail)
    assert (
        isinstance(result, NotAuthenticated)
        or result.address not in MEMBERS
        or differs(sent.raw, mail, result)
    )


@pytest.mark.parametrize("case", rows(TABLE))
async def test_an_honest_twin_that_is_really_read_is_accepted(case: Case) -> None:
    sent = case.twin()
    mail = read(sent.raw)
    assert isinstance(mail, ParsedMail), mail
    result = await verdict(replace(sent, claimed=mail.from_address), case.trust, mail)
    assert isinstance(result, Authenticated), result
    assert result.address == sent.claimed
    assert not differs(sent.raw, mail, result), "the signed bytes alone say something else"


def differs(raw: bytes, mail: ParsedMail, result: Authenticated) -> bool:
    """Whether a mail that rests on a signature is read in another way than the signed bytes allow."""
    if result.signed_only is None:
        return False
    return as_signed(mail, read(raw, signed=result.signed_only.parts)) is None


def test_the_table_has_every_kind() -> None:
    assert {case.number for case in TABLE} >= NUMBERS
    assert len(TABLE) >= 30
    assert len({case.name for case in TABLE}) == len(TABLE)
