"""Mail from the mail service: only its receipt says who sent it, and a mail that comes twice is one."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from tests.cloud.conftest import Account
from tests.cloud.mails import SCOTT, arrive, event, mail
from tests.flows import same_wish
from webordinary.core.errors import BadInput, NotFound
from webordinary.core.job import Arrival, Intent, JobId
from webordinary.core.lane import Lane
from webordinary.core.mail import LetterKind, MailState
from webordinary.core.site import Member, Project
from webordinary.entrypoints.functions import ingest
from webordinary.mail.checks.receipt import SesReceipt
from webordinary.ports.backend import Backend
from webordinary.wiring.cloud_mail import take_in

AMELIA = Lane("amelia", "scott")
HEADER = "webordinary.example; spf=pass; dkim=pass header.d=example.com; dmarc=pass header.from=example.com"


@pytest.fixture(autouse=True)
async def member(backend: Backend) -> None:
    await backend.directory.add_project(Project("amelia", repository="https://git.example/amelia.git"))
    await backend.directory.add_member(Member(AMELIA, SCOTT))


FAILED = {"spf": "FAIL", "dkim": "FAIL", "dmarc": "FAIL", "source": "x@evil.example"}


@pytest.mark.parametrize(
    ("verdicts", "state", "asked"),
    [
        ({}, MailState.ACCEPTED, False),
        # No DMARC record: SPF of the very same domain is proof, and nothing else is.
        ({"dmarc": "GRAY"}, MailState.ACCEPTED, False),
        ({"dmarc": "GRAY", "source": "scott@mail.example.com"}, MailState.QUARANTINED, True),
        ({"dmarc": "GRAY", "spf": "GRAY", "dkim": "GRAY"}, MailState.QUARANTINED, True),
        # DKIM passed, but the service does not say whose signature that was.
        ({"dmarc": "GRAY", "spf": "GRAY"}, MailState.QUARANTINED, True),
        # A pass of another domain.
        ({"dmarc": "GRAY", "source": "x@evil.example"}, MailState.QUARANTINED, True),
        ({"dmarc": "FAIL", "source": "x@evil.example"}, MailState.QUARANTINED, False),
        (FAILED, MailState.QUARANTINED, False),
        (FAILED | {"dmarcPolicy": "reject"}, MailState.QUARANTINED, False),
        # SPF passed for the same domain, but the service says that DMARC failed: its word is final.
        ({"dmarc": "FAIL"}, MailState.QUARANTINED, False),
        ({"dmarc": "PROCESSING_FAILED", "spf": "PROCESSING_FAILED"}, MailState.QUARANTINED, True),
        ({"dmarc": "", "spf": "", "dkim": ""}, MailState.QUARANTINED, True),
        ({"virus": "FAIL"}, MailState.QUARANTINED, False),
    ],
)
async def test_the_receipt_decides_who_sent_it(
    account: Account, backend: Backend, verdicts: dict[str, Any], state: MailState, *, asked: bool
) -> None:
    """A member whose mail proves little is asked at the address on file; one that was disowned is not."""
    (record,) = await take_in(await arrive(account, mail(), **verdicts), account.settings, backend)
    assert record.state is state, record.reason
    assert (record.job is not None) == (state is MailState.ACCEPTED)
    letters = [letter.kind for letter, _ in await backend.outbox.letters(limit=9, about=record.id)]
    assert letters == ([LetterKind.CONFIRM] if asked else [])


@pytest.mark.parametrize(
    "headers",
    [
        {"Authentication-Results": HEADER},
        {"Authentication-Results": HEADER.replace("webordinary.example", "the mail service")},
        {"Authentication_Results": HEADER.replace("webordinary.example", "amazonses.com")},
        {"X-SES-Spf-Verdict": "PASS", "X-SES-Dkim-Verdict": "PASS", "X-SES-DMARC-Verdict": "PASS"},
    ],
)
async def test_what_a_forged_mail_says_of_its_checks_is_not_believed(
    account: Account, backend: Backend, headers: dict[str, str]
) -> None:
    """Fault nine of the first build, and its obvious cousin."""
    forged = mail(**headers)
    (record,) = await take_in(await arrive(account, forged, **FAILED), account.settings, backend)
    assert record.state is MailState.QUARANTINED
    assert "DMARC failed" in record.reason


async def test_two_from_headers_are_doubted_whatever_the_receipt_says(
    account: Account, backend: Backend
) -> None:
    """The service may have checked the one, and a reader sees the other."""
    forged = mail().as_bytes().replace(b"From: ", b"From: x@evil.example\nFrom: ", 1)
    told = event("two-senders")
    await account.call("s3", "put_object", Bucket="raw-mail", Key="two-senders", Body=forged)
    (record,) = await take_in(told, account.settings, backend)
    assert (record.state, record.job) == (MailState.QUARANTINED, None)


async def test_a_stranger_with_good_proof_is_refused(account: Account, backend: Backend) -> None:
    stranger = mail(sender="mary@example.com")
    told = await arrive(account, stranger, source="mary@example.com")
    (record,) = await take_in(told, account.settings, backend)
    assert record.state is MailState.REFUSED


async def test_a_mail_that_comes_again_is_one_job_and_one_execution(
    account: Account, backend: Backend
) -> None:
    told = await arrive(account, mail())
    first, second = [(await take_in(told, account.settings, backend))[0] for _ in range(2)]
    assert first.job == second.job
    machine = account.settings.cloud.state_machine_arn
    listed = await account.call("stepfunctions", "list_executions", stateMachineArn=machine)
    assert [one["name"] for one in listed["executions"]] == [first.id]
    assert len(await backend.ledger.jobs(limit=9)) == 1


async def test_a_mail_larger_than_any_message_goes_the_same_way(account: Account, backend: Backend) -> None:
    """Only ids go through queues and executions; the words are in the tables."""
    large = mail("Change the title. " + "\N{GRINNING FACE}" * 49_000)  # as JSON, twelve bytes each
    (record,) = await take_in(await arrive(account, large), account.settings, backend)
    assert record.state is MailState.ACCEPTED, record.reason
    job = await backend.ledger.job(JobId(record.job or ""))
    assert len(json.dumps(job.instruction)) > 256 * 1024


async def test_one_bad_mail_of_an_event_keeps_no_other_out(account: Account, backend: Backend) -> None:
    good, missing = await arrive(account, mail()), event("there-is-none")
    both = {"Records": [*missing["Records"], *good["Records"]]}
    with pytest.raises(NotFound, match="there-is-none"):
        await take_in(both, account.settings, backend)
    assert len(await backend.ledger.jobs(limit=9)) == 1


@pytest.mark.parametrize(
    "told",
    [
        {},
        {"Records": []},
        {"Records": ["?"]},
        {"Records": [{"s3": {"object": {"key": "x"}}}]},
        event("../etc"),
        event(""),
    ],
)
async def test_an_event_of_another_kind_is_refused_in_a_sentence(
    account: Account, backend: Backend, told: dict[str, Any]
) -> None:
    with pytest.raises(BadInput):
        await take_in(told, account.settings, backend)


async def test_the_function_itself(account: Account, backend: Backend) -> None:
    """As the cloud calls it: no loop runs, all it knows is in the environment."""
    told = await arrive(account, mail())
    (answer,) = await asyncio.to_thread(ingest, told, None)
    assert answer["state"] == "accepted"
    job = await backend.ledger.job(JobId(answer["job"]))
    assert (job.lane, job.message_id) == (AMELIA, answer["mail"])
    (again,) = await asyncio.to_thread(ingest, told, None)
    assert again == answer


@pytest.mark.parametrize(
    "odd", [{}, {"spfVerdict": None}, {"spfVerdict": "PASS"}, {"spfVerdict": {"status": 1}}]
)
def test_odd_verdicts_are_none(odd: dict[str, Any]) -> None:
    assert SesReceipt.read(odd) == SesReceipt()


# --- the same as elsewhere ------------------------------------------------------------------------


@pytest.mark.parametrize("intent", [Intent.EDIT, Intent.UNDO, Intent.PUBLISH])
async def test_a_wish_is_the_same_job_as_by_any_other_way(
    account: Account, backend: Backend, intent: Intent
) -> None:
    """tests/flows/test_one_submit.py holds mail, command line, API and page to the very same values."""
    await same_wish.begin(backend, Arrival.INTERRUPT)
    wish = same_wish.mail(intent, account.settings.mail.address)
    (record,) = await take_in(await arrive(account, wish), account.settings, backend)
    assert record.state is MailState.ACCEPTED
    assert await same_wish.seen(backend) == same_wish.expected(intent, Arrival.INTERRUPT)
