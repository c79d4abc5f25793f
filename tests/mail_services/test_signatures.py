"""Each mail service with its documented signature: right, wrong, old, repeated, too large."""

import asyncio
import time
from collections.abc import AsyncIterator
from dataclasses import replace
from itertools import permutations

import pytest

from tests.mail_services.conftest import TOKEN_KEY, Room, written
from tests.mail_services.services import (
    ADDRESS,
    GIVEN_UP,
    NAMES,
    POST,
    TOO_LARGE,
    Handed,
    mailgun_multipart,
    unsigned,
)
from webordinary.core.mail import MailState
from webordinary.core.signed_addresses import session_address
from webordinary.mail.services.delivery import MAIL_BYTES, MIB

every_service = pytest.mark.parametrize("name", NAMES)
services_that_sign_a_time = pytest.mark.parametrize("name", [name for name in NAMES if name != "postmark"])
HOUR = 3600.0
TOO_OLD = {"mailgun": 10 * HOUR, "sendgrid": 80 * HOUR, "resend": 6 * 60, "cloudflare": 6 * 60}


@every_service
async def test_a_signed_mail_is_a_job_by_the_time_it_is_answered(room: Room, name: str) -> None:
    answer = await room.post(POST[name](Handed(written())))
    assert answer.status_code == 200, answer.text
    (record,) = await room.mails()
    assert (record.state, record.reason) == (MailState.ACCEPTED, "")
    assert answer.json() == {"kept": record.id}
    assert await room.jobs() == ["Change the title to Spring Sale"]
    assert await room.reception.backend.blobs.get(record.blob) == written()


async def test_mailgun_may_post_its_form_in_parts(room: Room) -> None:
    answer = await room.post(mailgun_multipart(Handed(written())))
    assert answer.status_code == 200, answer.text
    assert len(await room.jobs()) == 1


@every_service
async def test_a_wrong_signature_is_refused_and_nothing_is_kept(room: Room, name: str) -> None:
    """And the service tries again: the operator may put the key right in the meantime."""
    answer = await room.post(POST[name](Handed(written(), forged=True)))
    assert answer.status_code == 401
    assert await room.mails() == []


@every_service
async def test_without_a_signature_it_is_refused(room: Room, name: str) -> None:
    answer = await room.post(unsigned(name, Handed(written())))
    assert answer.status_code == 401
    assert await room.mails() == []


@pytest.mark.parametrize("name", ["sendgrid", "resend", "cloudflare"])
async def test_a_signature_is_for_the_mail_that_was_signed(room: Room, name: str) -> None:
    posted = POST[name](Handed(written()))
    changed = posted.with_body(posted.body.replace(b"Spring", b"Summer").replace(b"email_id", b"email_it"))
    assert changed.body != posted.body or name == "resend"
    answer = await room.post(changed)
    assert answer.status_code == 401
    assert await room.mails() == []


async def test_one_services_request_is_no_key_to_anothers_door(room: Room) -> None:
    """In this test they even share a secret."""
    for service, other in permutations(NAMES, 2):
        posted = replace(POST[service](Handed(written())), path=f"/inbound/{other}")
        assert (await room.post(posted)).status_code in {401, GIVEN_UP[other]}, (service, other)
    assert await room.mails() == []


@services_that_sign_a_time
async def test_an_old_signature_is_refused(room: Room, name: str) -> None:
    answer = await room.post(POST[name](Handed(written(), at=time.time() - TOO_OLD[name])))
    assert (answer.status_code, "seconds ago" in answer.text) == (401, True)
    assert await room.mails() == []


@services_that_sign_a_time
async def test_a_signature_from_the_future_is_refused(room: Room, name: str) -> None:
    answer = await room.post(POST[name](Handed(written(), at=time.time() + 6 * 60)))
    assert (answer.status_code, "in the future" in answer.text) == (401, True)
    assert await room.mails() == []


@services_that_sign_a_time
async def test_clocks_may_differ_by_minutes(room: Room, name: str) -> None:
    for skew in (-4 * 60, 4 * 60):
        answer = await room.post(POST[name](Handed(written(), at=time.time() + skew)))
        assert answer.status_code == 200


@pytest.mark.parametrize(("name", "hours"), [("mailgun", 8), ("sendgrid", 72)])
async def test_the_last_retry_of_a_service_that_signs_once_is_taken(
    room: Room, name: str, hours: float
) -> None:
    """Else mail that waited at the service while we were down would be lost when we are back."""
    answer = await room.post(POST[name](Handed(written(), at=time.time() - hours * HOUR)))
    assert answer.status_code == 200
    assert len(await room.jobs()) == 1


async def test_postmark_tells_no_time_and_an_old_request_makes_nothing_new(room: Room) -> None:
    """All that it signs with is a password. The same mail stays one job, whenever it comes."""
    old = written(Date="Mon, 06 Jan 2020 09:00:00 +0200")
    first, second = Handed(old), Handed(old)
    assert (await room.post(POST["postmark"](first))).status_code == 200
    assert (await room.post(POST["postmark"](second))).status_code == 200
    assert len(await room.jobs()) == 1


@every_service
async def test_a_repeated_request_is_welcome_and_makes_nothing_new(room: Room, name: str) -> None:
    """The service did not hear our answer, or somebody replays what they recorded."""
    posted = POST[name](Handed(written()))
    answers = [await room.post(posted) for _ in range(3)]
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert len({answer.json()["kept"] for answer in answers}) == 1
    assert len(await room.jobs()) == 1


@every_service
async def test_two_identical_requests_at_once_are_one_job(room: Room, name: str) -> None:
    posted = POST[name](Handed(written()))
    answers = await asyncio.gather(*(room.post(posted) for _ in range(4)))
    assert {answer.status_code for answer in answers} == {200}
    assert len(await room.jobs()) == 1


@pytest.mark.parametrize("name", ["mailgun", "postmark"])
async def test_a_used_signature_is_no_good_for_another_mail(room: Room, name: str) -> None:
    """Neither of them signs the mail itself: whoever got hold of a token could post anything with it."""
    first = Handed(written())
    assert (await room.post(POST[name](first))).status_code == 200
    answer = await room.post(POST[name](replace(first, raw=written("Delete everything", 2))))
    assert (answer.status_code, "another mail" in answer.text) == (GIVEN_UP[name], True)
    assert len(await room.jobs()) == 1


async def test_of_two_mails_with_one_token_at_once_one_gets_in(room: Room) -> None:
    first = Handed(written())
    mails = [first, *(replace(first, raw=written(f"Change number {n}", n)) for n in range(2, 6))]
    answers = await asyncio.gather(*(room.post(POST["mailgun"](mail)) for mail in mails))
    assert sorted(answer.status_code for answer in answers) == [200, 406, 406, 406, 406]
    assert len(await room.jobs()) == 1


@every_service
async def test_a_mail_that_is_too_large_is_given_up_by_its_service(room: Room, name: str) -> None:
    posted = POST[name](Handed(written()))
    large = posted.with_body(posted.body + b" " * room.door._services[name].body_bytes_max)
    answer = await room.post(large)
    assert (answer.status_code, "MiB" in answer.text) == (TOO_LARGE[name], True)
    assert await room.mails() == []


@every_service
async def test_a_body_of_no_declared_length_is_not_read_for_ever(room: Room, name: str) -> None:
    posted = POST[name](Handed(written()))
    sent = 0

    async def endless() -> AsyncIterator[bytes]:
        nonlocal sent
        yield posted.body
        while sent < room.door._services[name].body_bytes_max:
            sent += MIB
            yield b" " * MIB

    answer = await room.client.post(room.address + posted.path, headers=posted.headers, content=endless())
    assert answer.status_code == TOO_LARGE[name]
    assert await room.mails() == []


async def test_a_mail_beyond_what_smtp_takes_is_refused_here_too(room: Room) -> None:
    """A request of Mailgun's may be larger than a mail: each odd byte of it takes three."""
    large = written() + b"x" * MAIL_BYTES
    answer = await room.post(mailgun_multipart(Handed(large)))
    assert (answer.status_code, "MiB" in answer.text) == (406, True)


@every_service
async def test_an_empty_mail_is_given_up(room: Room, name: str) -> None:
    answer = await room.post(POST[name](Handed(b"")))
    assert answer.status_code == GIVEN_UP[name]
    assert await room.mails() == []


@every_service
async def test_an_empty_request_is_refused(room: Room, name: str) -> None:
    answer = await room.post(POST[name](Handed(written())).with_body(b""))
    assert answer.status_code in {401, GIVEN_UP[name]}


@every_service
async def test_mail_for_nobody_here_is_given_up(room: Room, name: str) -> None:
    answer = await room.post(POST[name](Handed(written(), recipients=("sales@us.example",))))
    assert (answer.status_code, "no such mailbox" in answer.text) == (GIVEN_UP[name], True)
    assert await room.mails() == []


@every_service
async def test_an_answer_to_a_session_address_goes_on_with_the_conversation(room: Room, name: str) -> None:
    await room.post(POST[name](Handed(written())))
    (first,) = await room.mails()
    assert first.session is not None
    reply_to = session_address(first.session, TOKEN_KEY, ADDRESS)
    answered = Handed(written("And the colour to blue", 2, To=reply_to), recipients=(reply_to,))
    answer = await room.post(POST[name](answered))
    assert answer.status_code == 200
    assert {record.session for record in await room.mails()} == {first.session}


@pytest.mark.parametrize("name", ["mailgun", "postmark", "sendgrid", "resend"])
async def test_one_mail_to_several_of_us_is_one_mail(room: Room, name: str) -> None:
    handed = Handed(written(), recipients=("EDIT@US.example", "edit+x@us.example", "sales@us.example"))
    assert (await room.post(POST[name](handed))).status_code == 200
    assert len(await room.jobs()) == 1


@every_service
async def test_while_the_store_is_down_nothing_is_acknowledged_and_the_retry_is_taken(
    room: Room, name: str
) -> None:
    posted = POST[name](Handed(written()))
    with room.store_down():
        answer = await room.post(posted)
        assert (answer.status_code, answer.headers["retry-after"]) == (503, "60")
    assert await room.mails() == []
    assert (await room.post(posted)).status_code == 200
    assert len(await room.jobs()) == 1


@every_service
async def test_a_signature_does_not_make_the_sender_true(room: Room, name: str) -> None:
    """The service only shows that it was handed this mail, as by SMTP."""
    forged = written().partition(b"From:")[2]
    answer = await room.post(POST[name](Handed(b"From:" + forged)))
    assert answer.status_code == 200
    (record,) = await room.mails()
    assert record.state is MailState.QUARANTINED
    assert await room.jobs() == []
