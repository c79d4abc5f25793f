"""Mailed pictures: copied into the site, shown in the one place that is meant."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from tests.agents.demo_room import ABOUT, INDEX, asked, contents, difference, room_in
from webordinary.core.work import Declined, MailedFile, Room, Worked

JPEG = b"\xff\xd8\xff\xe0 a picture"
NAMED = f"images/our-shop-{hashlib.sha256(JPEG).hexdigest()[:12]}.jpg"
PHOTO = MailedFile("our shop!.jpg", "image/jpeg")


@pytest.fixture
def room(tmp_path: Path) -> Room:
    room = room_in(tmp_path)
    (room.mail / PHOTO.name).write_bytes(JPEG)
    return room


@pytest.mark.parametrize(
    "instruction",
    [
        "Replace the hero photo with the attached one",
        "use the attached photo as the hero image",
        "Please replace the photo of the old oven with the attached one.",
        "replace the picture called old.jpg with the attached picture",
        "swap the image 'Old oven' for the attached file",
        "On the homepage, replace the photo with the attached one",
    ],
)
async def test_a_mailed_photo_takes_the_place_of_another(room: Room, instruction: str) -> None:
    before = contents(room)
    result = await asked(room, instruction, PHOTO)
    assert isinstance(result, Worked), result
    after = contents(room)
    assert after.pop(NAMED) == JPEG
    old = next(line.strip() for line in INDEX.splitlines() if "hero" in line)
    assert difference(before, after) == [
        f"index.html - {old}",
        f'index.html + <img class="hero" src="{NAMED}" alt="Old oven">',
    ]
    assert "still described as “Old oven”" in result.summary


async def test_a_description_comes_with_it(room: Room) -> None:
    result = await asked(
        room, 'Replace the photo of the team with the attached one and use the description "Ana & Bo"', PHOTO
    )
    assert isinstance(result, Worked), result
    assert f'<img src="{NAMED}" alt="Ana &amp; Bo">' in contents(room)["about.html"].decode()


async def test_a_picture_is_found_by_the_heading_above_it(tmp_path: Path) -> None:
    page = "<h2>Ovens</h2><img src=a.jpg><h2>Flour mill</h2><img src=b.jpg>"
    room = room_in(tmp_path, {"index.html": page})
    (room.mail / PHOTO.name).write_bytes(JPEG)
    assert isinstance(await asked(room, "replace the photo of the mill with the attached one", PHOTO), Worked)
    assert contents(room)["index.html"] == page.replace("b.jpg", f'"{NAMED}"').encode()


async def test_a_picture_with_other_sources_is_left_alone(tmp_path: Path) -> None:
    """A browser would go on showing one of them, and the reply would say what is not so."""
    page = "<picture><source srcset='a.webp'><img src=a.jpg alt=A></picture>"
    room = room_in(tmp_path, {"index.html": page})
    (room.mail / PHOTO.name).write_bytes(JPEG)
    assert isinstance(await asked(room, "replace the photo with the attached one", PHOTO), Declined)
    assert contents(room) == {"index.html": page.encode()}


async def test_another_picture_of_the_same_name_is_not_overwritten(room: Room) -> None:
    (room.tree / "images" / "our-shop.jpg").write_bytes(b"another")
    for _ in range(2):
        (room.tree / "index.html").write_text(INDEX)
        assert isinstance(await asked(room, "replace the hero photo with the attached one", PHOTO), Worked)
    found = contents(room)
    assert found["images/our-shop.jpg"] == b"another"
    assert [path for path, content in found.items() if content == JPEG] == [NAMED], "it is kept once"


@pytest.mark.parametrize(
    ("instruction", "path", "line"),
    [
        ("Add a photo", "index.html", '<img src="{}" alt="">'),
        ("Add the attached photo to the about page", "about.html", '<img src="{}" alt="">'),
        (
            "Put this photo below the heading 'Good bread' with the description 'Loaves'",
            "index.html",
            '<img src="{}" alt="Loaves">',
        ),
        ("Insert the attached photo before the heading 'Team'", "about.html", '<img src="{}" alt="">'),
    ],
)
async def test_a_mailed_photo_is_added_where_it_is_asked(
    room: Room, instruction: str, path: str, line: str
) -> None:
    before = contents(room)
    result = await asked(room, instruction, PHOTO)
    assert isinstance(result, Worked), result
    after = contents(room)
    assert after.pop(NAMED) == JPEG
    assert difference(before, after) == [f"{path} + {line.format(NAMED)}"]


@pytest.mark.parametrize(
    ("instruction", "files", "why"),
    [
        ("replace the hero photo with the attached one", (), "no picture attached"),
        (
            "replace the hero photo with the attached one",
            (PHOTO, MailedFile("b.png", "image/png")),
            "2 pictures",
        ),
        ("replace the hero photo with b.png", (PHOTO,), "no picture called “b.png” attached"),
        ("replace the photo of a bicycle with the attached one", (PHOTO,), "no picture “bicycle”"),
        (
            "replace the hero photo with the attached one",
            (MailedFile("x.svg", "image/svg+xml"),),
            "no picture attached",
        ),
        (
            "replace the hero photo with the attached one",
            (MailedFile("gone.jpg", "image/jpeg"),),
            "can't read",
        ),
        (
            "replace the hero photo with the attached one",
            (MailedFile("../x.jpg", "image/jpeg"),),
            "can't use",
        ),
    ],
)
async def test_what_is_not_clear_is_refused(
    room: Room, instruction: str, files: tuple[MailedFile, ...], why: str
) -> None:
    before = contents(room)
    result = await asked(room, instruction, *files)
    assert isinstance(result, Declined)
    assert why in result.reason
    assert contents(room) == before


async def test_what_only_claims_to_be_a_picture_is_refused(room: Room) -> None:
    (room.mail / PHOTO.name).write_bytes(b"<script>")
    assert isinstance(await asked(room, "replace the hero photo with the attached one", PHOTO), Declined)


async def test_an_images_folder_that_leads_elsewhere_is_not_used(room: Room, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (room.tree / "images").rmdir()
    (room.tree / "images").symlink_to(tmp_path / "elsewhere")
    assert isinstance(await asked(room, "replace the hero photo with the attached one", PHOTO), Declined)
    assert not list((tmp_path / "elsewhere").iterdir())


async def test_files_that_were_not_used_are_mentioned(room: Room) -> None:
    result = await asked(room, "Change the heading 'Team' to 'Us'", PHOTO)
    assert isinstance(result, Worked)
    assert result.summary.endswith("I did not use what was attached: our shop!.jpg.")


async def test_pictures_of_two_pages_need_a_page(room: Room) -> None:
    (room.tree / "about.html").write_text(ABOUT.replace("The team at work", "Old oven"))
    result = await asked(room, "replace the photo 'Old oven' with the attached one", PHOTO)
    assert isinstance(result, Declined)
    assert "more than one picture “Old oven”: 2" in result.reason
    assert isinstance(
        await asked(room, "replace the photo 'Old oven' on the about page with the attached one", PHOTO),
        Worked,
    )


async def test_files_are_called_as_their_sender_calls_them(room: Room) -> None:
    """Nobody who attached small.jpg and big.jpg knows what an image-2.jpg is."""
    small = MailedFile("image-1.png", "image/png", "small.jpg")
    big = MailedFile("image-2.jpg", "image/jpeg", "big.jpg")
    (room.mail / big.name).write_bytes(JPEG)
    unclear = await asked(room, "replace the hero photo with the attached one", small, big)
    assert isinstance(unclear, Declined)
    assert "there are 2 pictures attached (small.jpg, big.jpg)" in unclear.reason
    result = await asked(room, "replace the hero photo with big.jpg", small, big)
    assert isinstance(result, Worked), result
    assert JPEG in contents(room).values()
    assert ".jpg (your big.jpg) is shown instead of old.jpg" in result.summary
    assert result.summary.endswith("I did not use what was attached: small.jpg.")
