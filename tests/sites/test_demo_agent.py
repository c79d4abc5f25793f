"""A mail becomes a changed site: `up` as people start it, the demo agent, real SMTP, real HTTP."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator

import httpx
import pytest
from PIL import Image

from tests.sites.system import JOHN, Reply, System, branches
from tests.waiting import wait_until
from webordinary import samples
from webordinary.ports.images import WebImage
from webordinary.sites.images import made_anew

OLD_TITLE = "Flowers, slowly painted — Amelia Hart"
SAMPLE = samples.folder("amelia")
FILES = [str(path.relative_to(SAMPLE)) for path in sorted(SAMPLE.rglob("*")) if path.is_file()]


@pytest.fixture(scope="module")
def system(tmp_path_factory: pytest.TempPathFactory) -> Iterator[System]:
    """One system for all tests, which edit different sites of it."""
    system = System(tmp_path_factory.mktemp("demo") / "home")
    with system.up("--workers", "1"):
        sites = ("live/amelia/", "live/bakery/")
        wait_until(lambda: all(system.page(site).status_code == httpx.codes.OK for site in sites))
        yield system


def hero_of(html: str) -> str:
    """The picture at the top of the page."""
    found = re.search(r'class="hero-image" src="([^"]+)"', html)
    assert found is not None
    return found[1]


def assert_tells_of(reply: Reply, *words: str) -> None:
    assert reply.kind == "done", reply.text
    for word in words:
        assert word in reply.text


def photo() -> bytes:
    """A photo with a place in it that must not get onto the site."""
    exif = Image.Exif()
    exif[0x010E] = "taken at my own front door"
    made = io.BytesIO()
    Image.new("RGB", (1200, 800), (20, 90, 200)).save(made, "JPEG", exif=exif)
    return made.getvalue()


def test_title_and_photo_change_are_seen_published_and_undone_to_the_byte(system: System) -> None:
    original = {name: (SAMPLE / name).read_bytes() for name in FILES}
    assert system.site("amelia", FILES) == original

    title = system.send("Change the homepage title to Spring Sale")
    first = system.reply(title)
    link = f"http://127.0.0.1:{system.site_port}/amelia/"
    assert_tells_of(first, "on your home page now say “Spring Sale”", link, "publish", "undo")
    assert "index.html" not in first.text
    assert first.message["In-Reply-To"] == title.message_id
    assert first.message["Subject"] == "Re: My site"
    retitled = system.site("amelia", FILES)
    assert retitled["index.html"].decode() == original["index.html"].decode().replace(
        OLD_TITLE, "Spring Sale"
    ).replace("<h1>Flowers, slowly painted</h1>", "<h1>Spring Sale</h1>")

    sent = system.send(
        "Replace the hero photo with the attached one",
        answers=first.message_id,
        pictures=[("DSC 0001.jpg", photo())],
    )
    second = system.reply(sent)
    hero = hero_of(system.page("amelia/").text)
    assert_tells_of(second, "The picture on your home page is now your ", link)
    clean = made_anew(photo())
    assert isinstance(clean, WebImage)
    assert system.page(f"amelia/{hero}").content == clean.content
    assert b"front door" in photo()
    assert b"front door" not in clean.content
    assert system.site("live/amelia", FILES) == original

    files = [*FILES, hero] if hero not in FILES else FILES
    previewed = system.site("amelia", files)
    assert_tells_of(system.ask_by_mail("publish", answers=second.message_id), "/live/amelia/")
    assert system.site("live/amelia", files) == previewed == system.site("amelia", files)

    assert_tells_of(system.ask_by_mail("undo", answers=second.message_id), "Replace the hero photo")
    assert system.site("amelia", FILES) == retitled
    assert_tells_of(system.ask_by_mail("undo", answers=second.message_id), "Spring Sale")
    assert system.site("amelia", FILES) == original
    assert system.site("live/amelia", files) == previewed  # what everybody sees changes by `publish` alone


def test_odd_mails_are_answered_and_change_nothing(system: System) -> None:
    bakery = system.folder / "repositories" / "bakery.git"
    known, before = branches(bakery), system.published("bakery")

    assert system.ask_by_mail("Change the title to Mine", sender="eve@example.com").kind == "refused"
    assert system.reply(system.send(" \n", subject="", sender=JOHN)).kind == "unreadable"
    sandwich = system.ask_by_mail("make me a sandwich", sender=JOHN)
    assert sandwich.kind == "failed"
    assert "I don't understand “make me a sandwich”" in sandwich.text
    for word in ("title", "photo", "“help”"):  # what can be done instead
        assert word in sandwich.text.lower()

    assert system.published("bakery") == before
    assert branches(bakery) == known


def test_sites_and_the_dashboard_are_on_ports_of_their_own(system: System) -> None:
    """A script on a site must not be of the dashboard's origin."""
    assert system.site_port != system.http_port
    dashboard = httpx.get(f"http://127.0.0.1:{system.http_port}/amelia/", trust_env=False)
    assert OLD_TITLE not in dashboard.text
    assert system.page("api/status").status_code == httpx.codes.NOT_FOUND
