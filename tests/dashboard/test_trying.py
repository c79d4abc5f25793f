"""The try-it box: a real mail by the front door, or the form back with what is wrong."""

import email
import email.policy
import re
from dataclasses import replace
from html import unescape

import httpx
import pytest

from tests.dashboard.conftest import HOST, TOKEN, House
from tests.dashboard.seed import SCOTT, picture
from tests.dashboard.test_sign_in import csrf
from webordinary.core.errors import BackendUnavailable
from webordinary.core.mail import MailState
from webordinary.dashboard.app import create_app
from webordinary.dashboard.rendering import FIELD_BYTES_MAX
from webordinary.dashboard.try_it import FILE_BYTES_MAX


async def test_the_box_sends_a_real_mail(house: House, operator: httpx.AsyncClient) -> None:
    words = {"csrf": await csrf(operator), "sender": "amelia/scott scott@example.com"}
    answer = await operator.post(
        "/try",
        data=words | {"subject": "Hi\r\nBcc: all@example.com", "text": "Make it blue.\r\nPlease. ü"},
        files={"file": ('a"b\nc.png', picture(1, 2, 3), "text/html")},
    )
    assert answer.status_code == 303
    ((sender, raw),) = house.gateway.taken
    mail = email.message_from_bytes(raw, policy=email.policy.default)
    assert sender == mail["From"] == "scott@example.com"
    assert mail["To"] == house.parts.mail_address
    assert (mail["Subject"], mail["Bcc"]) == ("Hi Bcc: all@example.com", None)
    body = mail.get_body(("plain",))
    assert body is not None
    assert body.get_content().replace("\r\n", "\n") == "Make it blue.\nPlease. ü\n"
    assert [part.get_payload(decode=True) for part in mail.iter_attachments()] == [picture(1, 2, 3)]
    assert "has not kept it yet" in (await operator.get(answer.headers["location"])).text


@pytest.mark.parametrize(
    "given",
    [
        {"text": ""},
        {"sender": "amelia/scott mallory@example.net"},
        {"sender": "nonsense"},
        {"text": "x" * 30_000},
    ],
)
async def test_the_box_refuses_what_is_no_mail_of_a_member(
    house: House, operator: httpx.AsyncClient, given: dict[str, str]
) -> None:
    words = {
        "csrf": await csrf(operator),
        "sender": "amelia/scott scott@example.com",
        "subject": "",
        "text": "x",
    }
    answer = await operator.post("/try", data=words | given)
    assert answer.status_code == 400
    assert house.gateway.taken == []


@pytest.mark.parametrize(
    ("given", "file", "field", "sentence"),
    [
        ({"text": " \r\n "}, b"", "text", "The mail is empty: write what should be different"),
        ({"text": "<b>Zu lang</b>" * 2_000}, b"", "text", "A mail from here has at most 20,000 characters"),
        ({"subject": "s" * 201}, b"", "subject", "A subject has at most 200 characters"),
        ({}, b"x" * (FILE_BYTES_MAX + 1), "file", "A file has at most 10 MB"),
    ],
)
async def test_a_mail_that_was_not_sent_comes_back_as_it_was_written(
    house: House,
    operator: httpx.AsyncClient,
    given: dict[str, str],
    file: bytes,
    field: str,
    sentence: str,
) -> None:
    """A page that says "Bad Request" costs somebody the words they wrote."""
    words = {"sender": "bakery/john john@example.com", "subject": "Buns", "text": "<i>Bigger</i>\r\nbuns."}
    words |= given
    answer = await operator.post(
        "/try", data=words | {"csrf": await csrf(operator)}, files={"file": ("a.png", file)} if file else None
    )
    assert (answer.status_code, house.gateway.taken) == (400, [])
    page = answer.text
    assert re.search(
        rf'<p class="problem" id="problem" role="alert">{sentence}[^<]*nothing was sent.</p>', page
    )
    assert re.search(rf'id="{field}"[^>]* aria-invalid="true" aria-describedby="problem"', page)
    assert unescape(page.partition("<textarea")[2].partition(">\n")[2].partition("</textarea>")[0]) == words[
        "text"
    ].replace("\r\n", "\n")
    assert f'value="{words["subject"]}"' in page
    assert '<option value="bakery/john john@example.com" selected>' in page
    assert (await operator.get("/try")).status_code == 200  # what the browser asks for when it refreshes


async def test_a_mail_that_the_gateway_does_not_take_comes_back_too(
    house: House, operator: httpx.AsyncClient
) -> None:
    async def closed(_sender: str, _raw: bytes) -> None:
        raise BackendUnavailable("the mail was not taken now: 451 later. Send it again later")

    app = create_app(replace(house.parts, send=closed), token=TOKEN)
    transport = httpx.ASGITransport(app)
    async with httpx.AsyncClient(
        transport=transport, base_url=HOST, headers={"origin": HOST}, cookies=operator.cookies
    ) as client:
        words = {"sender": "bakery/john john@example.com", "subject": "Buns", "text": "Bigger buns."}
        answer = await client.post("/try", data=words | {"csrf": await csrf(operator)})
    assert answer.status_code == 503
    assert "The mail was not taken now: 451 later." in answer.text
    assert "Bigger buns.</textarea>" in answer.text


async def test_a_form_that_can_not_be_read_is_told_beside_the_box(
    house: House, operator: httpx.AsyncClient
) -> None:
    huge = {"text": "x" * (FIELD_BYTES_MAX + 1), "csrf": await csrf(operator)}
    answer = await operator.post("/try", data=huge, files={"file": ("a.png", b"x")})
    assert (answer.status_code, house.gateway.taken) == (400, [])
    assert 'id="problem" role="alert">The form could not be read:' in answer.text


async def test_a_sent_mail_is_followed_step_by_step(house: House, operator: httpx.AsyncClient) -> None:
    """Claimed, running, done: what a newcomer sees in the first minute."""
    domain = house.parts.mail_address.rpartition("@")[2]
    job = (await house.backend.ledger.jobs(limit=1, lane=SCOTT))[0]
    mail = await house.backend.mailbox.mail(job.message_id)  # type: ignore[arg-type] # a mail's id
    assert mail is not None
    assert mail.state is MailState.ACCEPTED
    await house.backend.mailbox.update(replace(mail, message_id=f"<try-abc@{domain}>"))
    page = (await operator.get("/try/abc")).text
    assert re.search(
        r"is-done.*Lane claimed.*is-now.*Agent at work.*is-later.*Preview changed", page, re.DOTALL
    )
