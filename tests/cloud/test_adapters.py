"""Blobs in a bucket and mail by the mail service, on the emulated cloud."""

from email.message import EmailMessage
from functools import partial

import pytest

from tests.aws.fault_proxy import FaultProxy
from tests.cloud.conftest import ADDRESS, Account
from tests.publish.s3 import s3_client
from webordinary.backends.aws.blobs import S3Blobs
from webordinary.core.errors import BackendUnavailable, NotFound
from webordinary.mail.s3_letters import S3Letters
from webordinary.mail.ses_mailer import SesMailer
from webordinary.ports.mailer import Rejected, Sent, TryLater
from webordinary.system.s3_client import content_of
from webordinary.wiring.cloud import AwsPlatform, buckets
from webordinary.wiring.settings import load


@pytest.fixture
def blobs(account: Account) -> S3Blobs:
    return S3Blobs(buckets(account.settings), account.settings.cloud.bucket("blobs_bucket"))


@pytest.mark.parametrize("content", [b"", b"a mail", bytes(range(256)) * 4096])
async def test_bytes_come_back_as_they_were(blobs: S3Blobs, content: bytes) -> None:
    key = await blobs.put(content)
    assert await blobs.get(key) == content
    assert await blobs.put(content) == key


@pytest.mark.parametrize("most", [None, 1_000_000, 99_999])
async def test_an_object_on_a_slow_line_is_read_to_its_end(account: Account, most: int | None) -> None:
    """What has arrived at the first look is not the whole of it: a mail was cut off by that."""
    content = bytes(range(256)) * 1024
    await account.call("s3", "put_object", Bucket="raw-mail", Key="long", Body=content)
    async with (
        FaultProxy(account.endpoint, piece_bytes=16_384).listening() as slow,
        s3_client(region="us-east-1", endpoint=slow.endpoint, attempts=1) as client,
    ):
        answer = await client.get_object(Bucket="raw-mail", Key="long")
        assert await content_of(answer, most) == content[:most]


@pytest.mark.parametrize("key", ["0" * 64, "../x", "", "A" * 64])
async def test_what_is_not_there_is_told(blobs: S3Blobs, key: str) -> None:
    with pytest.raises(NotFound):
        await blobs.get(key)


async def test_bytes_that_somebody_changed_are_never_given_out(account: Account, blobs: S3Blobs) -> None:
    key = await blobs.put(b"what was written")
    await account.call("s3", "put_object", Bucket="kept-blobs", Key=f"blobs/{key}", Body=b"something else")
    with pytest.raises(BackendUnavailable, match="damaged"):
        await blobs.get(key)


async def test_a_missing_bucket_is_trouble_that_passes(account: Account) -> None:
    """The mail that was to be kept is not acknowledged, and comes again."""
    with pytest.raises(BackendUnavailable, match="NoSuchBucket"):
        await S3Blobs(buckets(account.settings), "there-is-none").put(b"x")


async def test_a_copy_of_a_letter_is_read_where_it_was_kept(account: Account) -> None:
    letters = AwsPlatform(account.settings).letters()
    assert await letters.copy("j1.done") is None
    for _ in range(2):
        assert await letters.send(b"a letter", recipient="a@example.com", key="j1.done") == Sent()
    assert await letters.copy("j1.done") == b"a letter"
    nowhere = S3Letters(buckets(account.settings), "there-is-none")
    assert isinstance(await nowhere.send(b"a letter", recipient="a@example.com", key="k"), TryLater)


def letter(to: str) -> bytes:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Subject"], mail["Message-ID"] = ADDRESS, to, "Done", f"<{to}>"
    mail.set_content("The title is new.")
    return mail.as_bytes()


async def test_a_letter_goes_out_as_it_was_written(account: Account) -> None:
    await account.call("sesv2", "create_email_identity", EmailIdentity="webordinary.example")
    to = f"{account.names.prefix}@example.com"
    assert await AwsPlatform(account.settings).mailer().send(letter(to), recipient=to, key="k") == Sent()
    (sent,) = [one for one in account.sent() if one["To"] == [to]]
    assert (sent["Source"], sent["Subject"]) == (ADDRESS, "Done")
    assert "The title is new." in sent["BodyText"]


async def test_an_address_that_is_not_verified_yet_is_the_operators_to_repair(account: Account) -> None:
    """The letter stays owed: it goes out when the operator has verified the address."""
    mailer = SesMailer(partial(account.line.client, "sesv2"), "edit@nobody-verified-this.example")
    told = await mailer.send(letter("a@example.com"), recipient="a@example.com", key="k")
    assert isinstance(told, TryLater), told


async def test_a_letter_that_is_too_large_is_given_up(account: Account) -> None:
    told = (
        await AwsPlatform(account.settings)
        .mailer()
        .send(b"x" * 40_000_001, recipient="a@example.com", key="k")
    )
    assert isinstance(told, Rejected)


async def test_a_service_that_does_not_answer_gets_it_again(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")
    mailer = AwsPlatform(load(account.settings.home)).mailer()
    told = await mailer.send(letter("a@b.c"), recipient="a@b.c", key="k")
    assert isinstance(told, TryLater)
