"""Small real pictures and documents, made here so that nobody has to trust a blob."""

from __future__ import annotations

import io
import zipfile

import pillow_heif
from PIL import Image

PDF = (
    b"%PDF-1.4\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj\n2 0 obj<</Type/Pages/Kids[]/Count 0>>endobj\n"
    b"trailer<</Root 1 0 R>>\n%%EOF\n"
)
ORIENTATION, GPS = 0x0112, 0x8825
LATITUDE, LONGITUDE = 2, 4


def saved(image: Image.Image, kind: str, **options: object) -> bytes:
    out = io.BytesIO()
    image.save(out, kind, **options)
    return out.getvalue()


def photo(width: int = 40, height: int = 30, mode: str = "RGB") -> Image.Image:
    """More colours than a drawing has; the left edge is red."""
    image = Image.linear_gradient("L").resize((width, height)).convert("RGB")
    other = Image.radial_gradient("L").resize((width, height))
    image = Image.merge("RGB", (image.getchannel(0), other, other.rotate(90)))
    image.paste((255, 0, 0), (0, 0, max(1, width // 8), height))
    return image.convert(mode)


def jpeg() -> bytes:
    return saved(photo(), "JPEG", quality=60)


def sideways_jpeg_with_place() -> bytes:
    """As a phone writes it: the pixels lie on their side; notes say so, and where it was taken."""
    exif = Image.Exif()
    exif[ORIENTATION] = 6  # to be turned clockwise: the left edge is the top
    exif.get_ifd(GPS)[LATITUDE] = (52.0, 31.0, 12.0)
    exif.get_ifd(GPS)[LONGITUDE] = (13.0, 24.0, 36.0)
    return saved(photo(), "JPEG", quality=60, exif=exif.tobytes())


def heic() -> bytes:
    pillow_heif.register_heif_opener()
    return saved(photo(64, 48), "HEIF", quality=40)


def see_through_png() -> bytes:
    image = Image.new("RGBA", (20, 20), (0, 0, 255, 0))
    image.paste((0, 128, 0, 255), (5, 5, 15, 15))
    return saved(image, "PNG")


def cmyk_jpeg() -> bytes:
    return saved(photo(24, 24).convert("CMYK"), "JPEG", quality=60)


def animation() -> bytes:
    frames = [Image.new("RGB", (16, 16), colour) for colour in ("red", "green", "blue")]
    return saved(frames[0], "GIF", save_all=True, append_images=frames[1:], duration=100, loop=0)


def dot() -> bytes:
    return saved(Image.new("P", (1, 1)), "GIF")


def zip_bomb() -> bytes:
    """Ten megabytes of nothing in ten kilobytes."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("photo.jpg"), bytes(10_000_000), zipfile.ZIP_DEFLATED)
    return out.getvalue()


def docx() -> bytes:
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        archive.writestr(zipfile.ZipInfo("[Content_Types].xml"), "<Types/>")
        archive.writestr(zipfile.ZipInfo("word/document.xml"), "<document/>")
    return out.getvalue()
