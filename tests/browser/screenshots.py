"""Pictures of every page for the docs: `python -m tests.browser.screenshots docs/screenshots`."""

import io
import shutil
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import Page, sync_playwright

from tests.browser.conftest import LOOKS
from tests.dashboard.conftest import TOKEN
from tests.dashboard.served import served

PAGES = {
    "overview": "/",
    "pool": "/pool",
    "lanes": "/lanes",
    "lane": "/lanes/amelia/scott",
    "jobs": "/jobs",
    "job": "",  # the newest that is done
    "mail": "/mail",
    "dead": "/dead",
    "metrics": "/metrics",
}
COLOURS = 128


def take(page: Page, path: Path) -> None:
    picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
    picture.quantize(COLOURS, dither=Image.Dither.NONE).save(path, optimize=True)


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as home, served(Path(home)) as server, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for look, options in LOOKS.items():
            context = browser.new_context(**options)  # type: ignore[arg-type] # options of a context
            page = context.new_page()
            page.goto(f"{server.address}/?token={TOKEN}")
            for name, path in PAGES.items():
                if path:
                    page.goto(f"{server.address}{path}")
                else:
                    page.goto(f"{server.address}/jobs?state=done")
                    page.locator("td.words > a").first.click()
                page.wait_for_timeout(500)
                take(page, folder / f"{name}-{look}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
