"""Pictures of every page for the docs: `python -m tests.browser.screenshots docs/screenshots`."""

import io
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, expect, sync_playwright

from tests.browser.conftest import LOOKS
from tests.dashboard.conftest import TOKEN
from tests.dashboard.seed import TRIED
from tests.dashboard.served import served

# Name: address, and the link to follow from there.
PAGES = {
    "overview": ("/", ""),
    "following": (f"/try/{TRIED}", ""),
    "pool": ("/pool", ""),
    "lanes": ("/lanes", ""),
    "lane": ("/lanes/amelia/scott", ""),
    "jobs": ("/jobs", ""),
    "job": ("/jobs?state=done", "td.words > a"),  # the newest
    "mail": ("/mail", ""),
    "one-mail": ("/mail", 'td.words a:has-text("Bowl")'),
    "letter": ("/mail/sent", 'td a:text-is("done")'),
    "dead": ("/dead", ""),
    "metrics": ("/metrics", ""),
    "api": ("/api", ""),
}
COLOURS = 192


def take(page: Page, path: Path) -> None:
    """Keep the colours that fill the page exactly; what is between them becomes the nearest one."""
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    found = Counter(zip(*(channel.tobytes() for channel in picture.split()), strict=True))
    palette = Image.new("P", (1, 1))
    palette.putpalette([part for colour, _ in found.most_common(COLOURS) for part in colour])
    picture.quantize(palette=palette, dither=Image.Dither.NONE).save(path, optimize=True)


def open_page(page: Page, address: str, link: str) -> None:
    page.goto(address)
    if link:
        page.locator(link).first.click()
        expect(page).not_to_have_url(address)
    page.wait_for_timeout(500)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for look, options in LOOKS.items():
            # A story of its own for each look: after half a minute its workers count as silent.
            with tempfile.TemporaryDirectory() as home, served(Path(home)) as server:
                context = browser.new_context(**options)  # type: ignore[arg-type] # options of a context
                page = context.new_page()
                page.goto(f"{server.address}/sign-in")  # before the browser has the token
                take(page, folder / f"sign-in-{look}.png")
                page.goto(f"{server.address}/?token={TOKEN}")
                for name, (path, link) in PAGES.items():
                    open_page(page, f"{server.address}{path}", link)
                    take(page, folder / f"{name}-{look}.png")
                context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
