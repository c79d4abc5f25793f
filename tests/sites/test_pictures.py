"""With a browser, the reply shows the changed page before and after."""

from email.message import EmailMessage
from pathlib import Path

from tests.needs import needs
from tests.sites.system import System

PNG = b"\x89PNG\r\n\x1a\n"


def pictures(message: EmailMessage) -> dict[str, bytes]:
    found = {}
    for part in message.walk():
        if part.get_content_maintype() != "image":
            continue
        content = part.get_content()
        assert isinstance(content, bytes)
        found[str(part.get_filename())] = content
    return found


def test_the_reply_shows_the_page_before_and_after(tmp_path: Path) -> None:
    needs("chromium", "it takes the pictures")
    system = System(tmp_path / "home", WEBORDINARY_WORK_BROWSER="true")
    with system.up("--workers", "1"):
        sent = system.send("Change the homepage title to Spring Sale")
        shown = pictures(system.reply(sent).message)
    assert set(shown) == {"before.png", "after.png"}
    assert all(len(picture) < 500_000 for picture in shown.values())  # small: it is a letter
    assert all(picture.startswith(PNG) for picture in shown.values())
    assert shown["before.png"] != shown["after.png"]
