"""Pictures made web-ready with Pillow, in a process that may be killed.

Every picture is decoded and written anew: what is not picture (place, camera, thumbnails, hidden data after
the end) is left behind, and no byte of the sender's file gets onto a site.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from typing import Any

from PIL import Image, ImageCms, ImageOps, ImageSequence
from pillow_heif import register_heif_opener

from webordinary.core.mail import FileProblem
from webordinary.intake.limits import PICTURE_PIXELS
from webordinary.ports.images import NoImage, WebImage
from webordinary.system.function_pool import FunctionPool, OutOfBounds

EDGE_PIXELS = 2400  # of the longer side; enough for a full-width photo on a large screen
SMALLEST_PIXELS = 3  # below that it is no picture but a way to see who reads a mail
JPEG_QUALITY = 85
OPAQUE = 255
FRAMES = 200  # of an animation
FRAME_PIXELS = 40_000_000  # of all frames together
ACCEPTED = ("JPEG", "PNG", "GIF", "WEBP", "HEIF", "AVIF", "TIFF", "BMP")

register_heif_opener()
Image.init()  # the formats that Pillow loads late; `ACCEPTED` says which of all are used


class PillowImages:
    """See `Images`."""

    def __init__(self, pool: FunctionPool) -> None:
        """Decode within these bounds."""
        self._pool = pool

    async def web_ready(self, content: bytes) -> WebImage | NoImage:
        """See `Images.web_ready`."""
        try:
            return await self._pool.run(made_anew, content)
        except OutOfBounds:
            return NoImage(FileProblem.TOO_MUCH)


def made_anew(content: bytes) -> WebImage | NoImage:
    """Decode a picture and write it again."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about odd metadata, which is thrown away
            Image.MAX_IMAGE_PIXELS = None  # checked here, and refused in our own words
            return _made_anew(content)
    except MemoryError:
        return NoImage(FileProblem.TOO_MUCH)
    except Exception:  # noqa: BLE001 - decoders raise whatever they like
        return NoImage(FileProblem.NOT_READABLE)


def _made_anew(content: bytes) -> WebImage | NoImage:
    with Image.open(io.BytesIO(content), formats=ACCEPTED) as image:  # reads the header only
        width, height = image.size
        if width * height > PICTURE_PIXELS:
            return NoImage(FileProblem.TOO_MANY_PIXELS)
        if min(width, height) < SMALLEST_PIXELS:
            return NoImage(FileProblem.TOO_SMALL)
        if image.format == "GIF" and getattr(image, "n_frames", 1) > 1:
            return _animation(image)
        if image.format in {"JPEG", "MPO"}:
            image.draft("RGB", (EDGE_PIXELS, EDGE_PIXELS))  # decodes a large one at half or quarter size
        is_see_through = image.mode in {"RGBA", "LA", "PA"} or "transparency" in image.info
        plain = _plain(image, is_see_through=is_see_through)
        profile = image.info.get("icc_profile", b"")
    plain.thumbnail((EDGE_PIXELS, EDGE_PIXELS), Image.Resampling.LANCZOS)
    ImageOps.exif_transpose(plain, in_place=True)
    return _written(_in_screen_colours(plain, profile))


def _plain(image: Image.Image, *, is_see_through: bool) -> Image.Image:
    """A picture that can be made smaller: with colours, not numbers of colours. Large ones are not copied."""
    image.load()
    if image.mode in {"RGB", "RGBA", "CMYK", "L"}:
        return image.convert("RGBA") if is_see_through and image.mode != "RGBA" else image
    if image.mode.startswith(("I", "F")):  # more shades of grey than a screen has
        return image.convert("F").point(lambda value: value / 256).convert("L")
    return image.convert("RGBA" if is_see_through else "RGB")


def _in_screen_colours(image: Image.Image, profile: bytes) -> Image.Image:
    """RGB as screens show it. Print colours and wide phone colours are translated, not just relabelled."""
    if profile and image.mode in {"RGB", "CMYK"}:
        with contextlib.suppress(ImageCms.PyCMSError, OSError):
            source, screen = ImageCms.ImageCmsProfile(io.BytesIO(profile)), ImageCms.createProfile("sRGB")
            return ImageCms.profileToProfile(image, source, screen, outputMode="RGB") or image.convert("RGB")
    return image if image.mode == "RGBA" else image.convert("RGB")


def _written(image: Image.Image) -> WebImage:
    """PNG where something shows through or there are few colours, as in drawings; else JPEG."""
    is_see_through = (
        image.mode == "RGBA" and image.getchannel("A").histogram()[OPAQUE] < image.width * image.height
    )
    bare = Image.new(image.mode, image.size)
    bare.paste(image)  # pixels only
    if is_see_through or _is_drawing(bare):
        return _saved(bare, "PNG", "image/png", "png", optimize=True)
    bare = bare.convert("RGB")
    return _saved(bare, "JPEG", "image/jpeg", "jpg", quality=JPEG_QUALITY, optimize=True, progressive=True)


def _is_drawing(image: Image.Image) -> bool:
    return image.getcolors(maxcolors=256) is not None


def _animation(image: Image.Image) -> WebImage | NoImage:
    """A short animation stays one; a long or large one becomes its first frame."""
    frames = getattr(image, "n_frames", 1)
    width, height = image.size
    if frames > FRAMES or frames * width * height > FRAME_PIXELS or max(width, height) > EDGE_PIXELS:
        image.seek(0)
        first = image.convert("RGBA")
        first.thumbnail((EDGE_PIXELS, EDGE_PIXELS), Image.Resampling.LANCZOS)
        return _written(first)
    pictures = [frame.convert("RGBA") for frame in ImageSequence.Iterator(image)]
    durations = [max(20, int(frame.info.get("duration", 100))) for frame in ImageSequence.Iterator(image)]
    return _saved(
        pictures[0],
        "GIF",
        "image/gif",
        "gif",
        save_all=True,
        append_images=pictures[1:],
        duration=durations,
        loop=0,
        disposal=2,
    )


def _saved(image: Image.Image, name: str, kind: str, extension: str, **options: Any) -> WebImage:  # noqa: ANN401
    out = io.BytesIO()
    image.save(out, name, **options)
    return WebImage(out.getvalue(), kind, extension, image.width, image.height)
