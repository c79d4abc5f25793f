"""The settings of a mailbox that is read."""

import pytest

from webordinary.core.errors import BadInput
from webordinary.mail.smtp.relay import Encryption
from webordinary.wiring.mail import imap_account
from webordinary.wiring.settings import MailSettings


def test_user_password_and_folder_may_hold_any_character() -> None:
    """Most people's user name has an @ in it."""
    address = "imaps://you%40example.com:p%3Aa%2Fs%40s@imap.example.com/Mail%2FW%C3%BCnsche"
    account = imap_account(MailSettings(imap=address))
    assert account is not None
    assert (account.user, account.password) == ("you@example.com", "p:a/s@s")
    assert (account.host, account.port, account.folder) == ("imap.example.com", 993, "Mail/Wünsche")
    assert account.name == "you@example.com@imap.example.com/Mail/Wünsche"
    assert "p:a/s@s" not in repr(account)
    assert "imap.example.com" not in repr(MailSettings(imap=address))


@pytest.mark.parametrize(
    ("address", "encryption", "port"),
    [
        ("imaps://u:p@imap.example.com", Encryption.TLS, 993),
        ("imap://u:p@imap.example.com", Encryption.STARTTLS, 143),
        ("imap://u:p@127.0.0.1:1143", Encryption.NONE, 1143),
        ("imaps://u:p@localhost", Encryption.TLS, 993),
    ],
)
def test_a_password_leaves_this_machine_only_encrypted(
    address: str, encryption: Encryption, port: int
) -> None:
    account = imap_account(MailSettings(imap=address))
    assert account is not None
    assert (account.encryption, account.port, account.folder) == (encryption, port, "INBOX")


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        (MailSettings(imap="imap.example.com"), "must look like imaps://user:password@host:port"),
        (MailSettings(imap="imaps://u:p@host/Webordinary"), "the folder that is read"),
        (MailSettings(imap="imaps://u:p@host", imap_done_folder="inbox"), "the folder that is read"),
    ],
)
def test_a_setting_that_could_not_work_is_refused(settings: MailSettings, complaint: str) -> None:
    """Mail that is moved where it came from would come again for ever."""
    with pytest.raises(BadInput, match=complaint):
        imap_account(settings)


def test_without_a_mailbox_none_is_read() -> None:
    assert imap_account(MailSettings()) is None
