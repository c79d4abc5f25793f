"""Pictures that a site may show."""

from __future__ import annotations

import io
import struct
import zlib

import pytest
from PIL import Image

from tests.intake import pictures
from webordinary.core.mail import FileProblem
from webordinary.ports.images import NoImage, WebImage
from webordinary.sites.images import (
    EDGE_PIXELS,
    FRAMES,
    PillowImages,
    made_anew,
)
from webordinary.system.function_pool import FunctionPool


def anew(content: bytes) -> tuple[WebImage, Image.Image]:
    made = made_anew(content)
    assert isinstance(made, WebImage)
    image = Image.open(io.BytesIO(made.content))
    assert image.size == (made.width, made.height)
    return made, image


def is_red(image: Image.Image, x: int, y: int) -> bool:
    pixel = image.convert("RGB").getpixel((x, y))
    assert isinstance(pixel, tuple)
    return pixel[0] > 200 and pixel[1] < 80 and pixel[2] < 80


def forged_png(width: int, height: int) -> bytes:
    """A few bytes that say that they are a picture of any size."""
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [b"IHDR" + header, b"IDAT" + zlib.compress(b"")]
    return b"\x89PNG\r\n\x1a\n" + b"".join(
        struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk)) for chunk in chunks
    )


def test_a_photo_is_upright_and_does_not_say_where_it_was_taken() -> None:
    """The place of somebody's kitchen is nobody's business."""
    original = pictures.sideways_jpeg_with_place()
    assert Image.open(io.BytesIO(original)).getexif().get_ifd(pictures.GPS)
    made, image = anew(original)
    assert image.size == (30, 40)
    assert is_red(image, 15, 1)
    assert not is_red(image, 1, 35)
    assert not image.getexif()
    assert b"Exif" not in made.content


def test_nothing_of_the_sender_s_file_but_the_picture_gets_through() -> None:
    """A file can be a picture and something else at once."""
    image = pictures.photo()
    extra = b"<script>alert(1)</script>"
    original = pictures.saved(image, "JPEG", comment=extra, icc_profile=extra) + extra
    made, _ = anew(original)
    assert extra in original
    assert b"script" not in made.content


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "TIFF", "BMP", "AVIF", "HEIF", "GIF"])
def test_every_usual_kind_of_photo_becomes_one_that_browsers_show(kind: str) -> None:
    pictures.heic()  # makes Pillow write HEIF
    _, image = anew(pictures.saved(pictures.photo(64, 48), kind))
    assert image.format in {"JPEG", "PNG"}
    assert image.size == (64, 48)
    assert is_red(image, 2, 24)


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "I;16", "I", "CMYK", "RGBA"])
def test_every_way_to_store_colours_becomes_screen_colours(mode: str) -> None:
    image = pictures.photo(24, 24).convert("L" if mode.startswith("I") else "RGB").convert(mode)
    content = pictures.saved(image, "TIFF" if mode in {"CMYK", "I"} else "PNG")
    _, made = anew(content)
    assert made.mode in {"RGB", "RGBA"}
    assert made.size == (24, 24)


def test_sixteen_bits_of_grey_stay_grey() -> None:
    """Cutting off the upper half would make a photo white."""
    image = Image.new("I;16", (8, 8), 128 * 256)
    _, made = anew(pictures.saved(image, "PNG"))
    assert made.convert("L").getpixel((4, 4)) == 128


def test_what_shows_through_still_does() -> None:
    _, image = anew(pictures.see_through_png())
    assert image.mode == "RGBA"
    assert image.getpixel((0, 0)) == (0, 0, 255, 0)
    assert image.getpixel((10, 10)) == (0, 128, 0, 255)


def test_a_palette_with_a_see_through_colour_keeps_it() -> None:
    image = Image.new("P", (8, 8), 0)
    image.putpalette([255, 0, 0, 0, 255, 0])
    image.paste(1, (4, 0, 8, 8))
    _, made = anew(pictures.saved(image, "PNG", transparency=0))
    assert made.convert("RGBA").getchannel("A").getpixel((1, 1)) == 0
    assert made.convert("RGBA").getchannel("A").getpixel((6, 1)) == 255


def test_a_large_photo_is_made_smaller() -> None:
    _, image = anew(pictures.saved(pictures.photo(5_000, 1_000), "JPEG"))
    assert image.size == (EDGE_PIXELS, EDGE_PIXELS // 5)


def test_an_animation_stays_one() -> None:
    made, image = anew(pictures.animation())
    assert made.kind == "image/gif"
    assert getattr(image, "n_frames", 1) == 3


def test_an_endless_animation_becomes_its_first_frame() -> None:
    shades = [Image.new("L", (4, 4), number % 250) for number in range(FRAMES + 5)]
    made, image = anew(pictures.saved(shades[0], "GIF", save_all=True, append_images=shades[1:]))
    assert made.kind == "image/png"
    assert getattr(image, "n_frames", 1) == 1


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (forged_png(100_000, 100_000), FileProblem.TOO_MANY_PIXELS),
        (forged_png(60_000, 1_100), FileProblem.TOO_MANY_PIXELS),
        (pictures.dot(), FileProblem.TOO_SMALL),
        (pictures.saved(Image.new("RGB", (600, 1)), "PNG"), FileProblem.TOO_SMALL),
        (forged_png(100, 100), FileProblem.NOT_READABLE),
        (pictures.jpeg()[:300], FileProblem.NOT_READABLE),
        (b"\xff\xd8\xff" + bytes(100), FileProblem.NOT_READABLE),
        (b"", FileProblem.NOT_READABLE),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 10 10\n", FileProblem.NOT_READABLE),
    ],
    ids=["huge", "wide", "dot", "line", "empty", "torn", "zeros", "nothing", "PostScript"],
)
def test_what_is_no_picture_or_too_much_of_one_is_refused(content: bytes, problem: FileProblem) -> None:
    """The size is known from the first bytes: nothing is unpacked to find out."""
    assert made_anew(content) == NoImage(problem)


async def test_pictures_are_decoded_in_a_process_of_their_own() -> None:
    """Decoders are large C libraries, and their input comes from anybody."""
    async with FunctionPool() as pool:
        made = await PillowImages(pool).web_ready(pictures.heic())
        assert isinstance(made, WebImage)
        assert (made.kind, made.width, made.height) == ("image/jpeg", 64, 48)


async def test_a_picture_that_takes_too_long_is_left_out() -> None:
    async with FunctionPool(seconds=0.001) as pool:
        large = pictures.saved(pictures.photo(3_000, 2_000), "PNG", compress_level=1)
        assert await PillowImages(pool).web_ready(large) == NoImage(FileProblem.TOO_MUCH)
