"""Pictures of pages, taken by Chromium through Playwright (extra `[browser]`).

Pages are foreign: their scripts do not run, nothing outside their own server is loaded, and each has seconds.
"""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import os
import shutil
from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from playwright.async_api import Browser, Route

log = logging.getLogger("webordinary.camera")

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
WIDTH, HEIGHT = 1000, 750
SCALE = 0.5  # of the picture: two of them stand side by side in a letter
PAGE_SECONDS = 5.0
ALL_SECONDS = 8.0  # nobody waits longer for the pictures that go with an answer
PICTURE_BYTES_MAX = 500_000


def browser_program() -> str | None:
    """Find a browser of the system."""
    return next((found for name in PROGRAMS if (found := shutil.which(name))), None)


def why_no_camera() -> str | None:
    """Say what is missing for pictures; None if nothing is."""
    if importlib.util.find_spec("playwright") is None:
        return "the extra is not installed: pip install 'webordinary[browser]'"
    if browser_program() is None:
        return "there is no Chromium: apt install chromium"
    return None


class BrowserCamera:
    """See `Camera`. A browser is started for each set of pages and ends with it."""

    async def pictures(self, addresses: Sequence[str]) -> list[bytes | None]:
        """See `Camera.pictures`."""
        from playwright.async_api import Error, async_playwright  # noqa: PLC0415 - an extra

        # As root Chromium can't use its own sandbox; scripts are off and nothing foreign is loaded.
        arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
        try:
            async with asyncio.timeout(ALL_SECONDS), async_playwright() as playwright:
                browser = await playwright.chromium.launch(executable_path=browser_program(), args=arguments)
                try:
                    return [await _picture(browser, address) for address in addresses]
                finally:
                    await browser.close()
        except (Error, TimeoutError) as error:
            log.warning("no pictures: %s", (str(error) or "it took too long").splitlines()[0])
            return [None] * len(addresses)


async def _picture(browser: Browser, address: str) -> bytes | None:
    from playwright.async_api import Error  # noqa: PLC0415 - an extra

    home = urlsplit(address).netloc

    async def only_from_home(route: Route) -> None:
        if urlsplit(route.request.url).netloc == home:
            await route.continue_()
        else:
            await route.abort()

    context = await browser.new_context(
        viewport={"width": WIDTH, "height": HEIGHT},
        device_scale_factor=SCALE,
        java_script_enabled=False,
        accept_downloads=False,
    )
    try:
        await context.route("**/*", only_from_home)
        page = await context.new_page()
        answer = await page.goto(address, timeout=1000 * PAGE_SECONDS)
        if answer is None or not answer.ok:
            return None
        taken = await page.screenshot(timeout=1000 * PAGE_SECONDS, animations="disabled")
    except Error as error:
        log.warning("no picture of %s: %s", address, str(error).splitlines()[0])
        return None
    finally:
        await context.close()
    return taken if len(taken) <= PICTURE_BYTES_MAX else None
