"""What we call ourselves: many servers refuse one whose name is not that of its address."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from tests.smtp.line import ADDRESS, listening
from tests.waiting import until
from webordinary.core.errors import BadInput
from webordinary.core.mail import Letter, LetterKind, MailId, MailRecord, MailState
from webordinary.wiring.mail import open_mail_room
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import MailSettings, Settings, load, read


def settings(home: Path, mail: MailSettings) -> Settings:
    return replace(load(home, {}), mail=mail)


NAMES = pytest.mark.parametrize(
    ("name", "said"), [("", "example.com"), ("mx7.example.net", "mx7.example.net")]
)


@NAMES
async def test_we_greet_by_the_name_that_is_set(tmp_path: Path, name: str, said: str) -> None:
    home = settings(tmp_path, MailSettings(address="edit@example.com", ehlo_name=name))
    backend = open_backend(home)
    room = open_mail_room(home, backend)
    assert room.listening.hostname == said
    await room.close()
    backend.close()


@NAMES
async def test_we_introduce_ourselves_to_the_relay_by_that_name(tmp_path: Path, name: str, said: str) -> None:
    async with listening() as relay:
        url = f"smtp://127.0.0.1:{relay.port}"
        mail = MailSettings(address="edit@example.com", ehlo_name=name, relay=url)
        home = settings(tmp_path, mail)
        backend = open_backend(home)
        room = open_mail_room(home, backend)
        mail_id = MailId("m1")
        asked = MailRecord(mail_id, "<1@x>", MailState.ANSWERED, "help", ADDRESS, "Hi", (), 0.0, "ab" * 32)
        await backend.mailbox.keep(asked)
        await backend.outbox.owe(Letter(mail_id, LetterKind.HELP, mail_id))
        sending = asyncio.create_task(room.sender.run())
        await until(lambda: relay.received.mails)
        room.sender.stop()
        await sending
        await room.close()
        backend.close()
    assert [envelope.helo for _, envelope in relay.received.mails] == [said]


@pytest.mark.parametrize("name", ["two words", "a\r\nb", "höst.example", "a/b", "x" * 254])
def test_a_name_that_is_none_is_refused_at_the_start(name: str) -> None:
    with pytest.raises(BadInput, match="ehlo_name"):
        read(Path(), {"mail": {"ehlo_name": name}}, {})


@pytest.mark.parametrize("name", ["mx7.example.net", "[192.0.2.1]", "[IPv6:2001:db8::1]", "localhost"])
def test_a_host_name_or_an_address_in_brackets_is_one(name: str) -> None:
    assert read(Path(), {"mail": {"ehlo_name": name}}, {}).mail.ehlo_name == name
