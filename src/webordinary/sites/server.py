"""A web server for what `FolderPublisher` published: previews at /PROJECT/, live sites at /live/PROJECT/.

Releases that are kept, whatever is shown now, are at /-/PROJECT/RELEASE/: no project can be called "-".

A request chooses its release once, by reading the pointer. After that only names that are in the release's
manifest are files: no path that was asked for ever reaches the disk.
"""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from string import Template
from urllib.parse import quote, urlsplit

from starlette.applications import Starlette
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.responses import FileResponse, HTMLResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from webordinary.core.errors import BackendUnavailable, BadLane, NotFound
from webordinary.core.release import Place, ReleasedFile
from webordinary.publish.files import content_type
from webordinary.sites.folder_places import ProjectFolder
from webordinary.system.http_server import Served, serve_app

SITES_LISTED_MAX = 1_000
KEPT = "-"  # no project's name
STOP_SECONDS = 2  # what is being sent when told to stop may take so long
_RELEASES_REMEMBERED = 32
_INDEX, _OWN_MISSING = "index.html", "404.html"
_HEADERS = {
    "cache-control": "no-cache",  # ask every time: the answer to "is it done?" must not be an old page
    "x-content-type-options": "nosniff",
    "referrer-policy": "strict-origin-when-cross-origin",
}


def kept_path(project: str, release: str) -> str:
    """Where a release is seen for as long as it is kept."""
    return f"/{KEPT}/{project}/{release}/"


def site_app(root: Path) -> ASGIApp:
    """Serve the sites of a publisher's folder; only GET and HEAD, no cookie, no listing of folders."""
    sites = _Sites(root)
    # A plain function, so that Starlette runs it in a thread: it waits for the disk.
    return _Headed(Starlette(routes=[Route("/{path:path}", sites.answer, methods=["GET"])]))


async def serve_sites(root: Path, host: str = "127.0.0.1", port: int = 0) -> Served:
    """Serve in the running event loop until stopped; port 0 is any free one. No signal handler is set."""
    return await serve_app(site_app(root), host, port, timeout_graceful_shutdown=STOP_SECONDS)


@dataclass(frozen=True, slots=True)
class _Chosen:
    """The release that answers a request."""

    prefix: str  # of its addresses: /amelia/ or /live/amelia/
    folder: Path
    files: Mapping[str, ReleasedFile]


class _Sites:
    """Answers requests."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._files = functools.lru_cache(_RELEASES_REMEMBERED)(self._read_files)

    def answer(self, request: Request) -> Response:
        path = str(request.scope["path"])
        try:
            if path in ("/", "/live", "/live/"):
                return _own_page(sites_page(self._listed()))
            found = self._from_site(request, path) or self._beside(request, path)
            return found or _own_page(missing_page(), 404)
        except (BackendUnavailable, OSError) as error:
            words = str(error) if isinstance(error, BackendUnavailable) else "The disk could not be read."
            return _own_page(unavailable_page(words), 503)

    def _from_site(self, request: Request, path: str) -> Response | None:
        for _ in range(2):  # the release may be thrown away between choosing and opening: then choose again
            chosen, rest = self._asked(path)
            if chosen is None:
                return None
            if rest is None:
                return _redirect(chosen.prefix)
            with contextlib.suppress(FileNotFoundError):
                return _from_release(request, chosen, rest)
        return None

    def _asked(self, path: str) -> tuple[_Chosen | None, str | None]:
        """The release that an address means, and what is asked of it; None: only its slash is missing."""
        place, project, rest, slash = _parted(path)
        if project != KEPT or place is not Place.PREVIEW:
            return self._chosen(place, project), rest if slash else None
        project, _, rest = rest.partition("/")
        release, slash_after, rest = rest.partition("/")
        return self._kept(project, release), rest if slash_after else None

    def _beside(self, request: Request, path: str) -> Response | None:
        """Help a site that was made for the top of a server: `/a.css` on a page of /amelia/ is its own."""
        try:
            referer = urlsplit(request.headers.get("referer", ""))
        except ValueError:
            return None
        if not referer.netloc or referer.netloc != request.headers.get("host"):
            return None
        chosen, _ = self._asked(referer.path)
        if chosen is None or path.startswith(chosen.prefix) or _found(chosen, path[1:]) is None:
            return None
        return _redirect(chosen.prefix + path[1:], {"vary": "referer", "cache-control": "no-store"})

    def _chosen(self, place: Place, project: str) -> _Chosen | None:
        try:
            folder = ProjectFolder(self._root, project)
            standing = folder.places().standing.get(place)
            if standing is None:
                return None
            prefix = f"/live/{project}/" if place is Place.LIVE else f"/{project}/"
            return _Chosen(prefix, folder.site(standing.release), self._files(project, standing.release))
        except (BadLane, NotFound):
            return None

    def _kept(self, project: str, release: str) -> _Chosen | None:
        try:
            folder = ProjectFolder(self._root, project)
            if not folder.has(release):
                return None
            prefix = kept_path(project, release)
            return _Chosen(prefix, folder.site(release), self._files(project, release))
        except (BadLane, NotFound):
            return None

    def _read_files(self, project: str, release: str) -> Mapping[str, ReleasedFile]:
        return {file.path: file for file in ProjectFolder(self._root, project).manifest(release).files}

    def _listed(self) -> list[tuple[str, bool, bool]]:
        names = sorted(entry.name for entry in os.scandir(self._root)) if self._root.exists() else []
        listed = []
        for name in names[:SITES_LISTED_MAX]:
            with contextlib.suppress(BadLane, BackendUnavailable):
                standing = ProjectFolder(self._root, name).places().standing
                if standing:
                    listed.append((name, Place.PREVIEW in standing, Place.LIVE in standing))
        return listed


def _parted(path: str) -> tuple[Place, str, str, bool]:
    """Read `/PROJECT/rest` or `/live/PROJECT/rest`, and whether there is a slash after the project."""
    place, tail = Place.PREVIEW, path.removeprefix("/")
    if tail.startswith("live/"):
        place, tail = Place.LIVE, tail.removeprefix("live/")
    project, slash, rest = tail.partition("/")
    return place, project, rest, bool(slash)


def _found(chosen: _Chosen, rest: str) -> ReleasedFile | str | None:
    """The file that is meant, or the folder's address where only its slash is missing."""
    if not rest or rest.endswith("/"):
        return chosen.files.get(rest + _INDEX)
    if file := chosen.files.get(rest):
        return file
    return f"{chosen.prefix}{rest}/" if f"{rest}/{_INDEX}" in chosen.files else None


def _from_release(request: Request, chosen: _Chosen, rest: str) -> Response | None:
    found = _found(chosen, rest)
    if isinstance(found, str):
        return _redirect(found)
    if found is not None:
        return _file(request, chosen, found)
    if own := chosen.files.get(_OWN_MISSING):
        return _sent(chosen, own, 404)
    return None


def _file(request: Request, chosen: _Chosen, file: ReleasedFile) -> Response:
    etag = f'"{file.sha256[:32]}"'
    known = {tag.strip().removeprefix("W/") for tag in request.headers.get("if-none-match", "").split(",")}
    if etag in known or "*" in known:
        return Response(status_code=304, headers={"etag": etag})
    return _sent(chosen, file, 200, {"etag": etag})


def _sent(
    chosen: _Chosen, file: ReleasedFile, status: int, headers: Mapping[str, str] | None = None
) -> Response:
    path = chosen.folder / file.path
    return FileResponse(path, status, headers, content_type(file.path), stat_result=path.stat())


def _redirect(address: str, headers: Mapping[str, str] | None = None) -> Response:
    return RedirectResponse(quote(address), 307, headers)


def _own_page(html: str, status: int = 200) -> Response:
    return HTMLResponse(html, status, {"content-security-policy": OWN_PAGE_POLICY})


class _Headed:
    """Adds the headers that every answer has, also those that the framework makes."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        await self._app(scope, receive, send_headed)


# --- pages of its own ------------------------------------------------------------------------------------

# No script and nothing from elsewhere: the browser is told to refuse both.
OWN_PAGE_POLICY = "default-src 'none'; style-src 'unsafe-inline'"

_PAGE = Template("""<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>
  :root { color-scheme: light dark; --line: #8884; --soft: #888; }
  body { font: 17px/1.55 system-ui, sans-serif; max-width: 42rem; margin: 12vh auto; padding: 0 1.25rem; }
  h1 { font-size: 1.7rem; letter-spacing: -.02em; margin: 0 0 1rem; }
  p { margin: 0 0 1rem; }
  ul { list-style: none; margin: 1.5rem 0; padding: 0; border-top: 1px solid var(--line); }
  li { display: flex; gap: 1.25rem; padding: .7rem .1rem; border-bottom: 1px solid var(--line); }
  li strong { flex: 1; font-weight: 600; overflow-wrap: anywhere; }
  li span { color: var(--soft); }
  a { color: #2563eb; }
  @media (prefers-color-scheme: dark) { a { color: #7aa7ff; } }
</style>
<h1>$title</h1>
$body
</html>
""")


def sites_page(sites: Sequence[tuple[str, bool, bool]]) -> str:
    """List the sites: name, whether there is a preview, whether it is live."""
    if not sites:
        return _page("Sites", "<p>Nothing is published yet. A site appears here with its first change.</p>")
    return _page("Sites", "<ul>" + "".join(_row(*site) for site in sites) + "</ul>")


def missing_page() -> str:
    return _page(
        "There is nothing at this address",
        "<p>The page may have been renamed or taken out, or the link that led here has a typing mistake.</p>"
        '<p><a href="/">See which sites there are</a></p>',
    )


def unavailable_page(reason: str) -> str:
    return _page(
        "The site can't be shown just now",
        f"<p>Nothing of it is lost. Please try again in a moment.</p><p>{escape(reason)}</p>",
    )


def _row(name: str, previewed: bool, live: bool) -> str:  # noqa: FBT001 - two places, two answers
    shown = escape(name)
    return (
        f"<li><strong>{shown}</strong>"
        + (f'<a href="/{shown}/">preview</a>' if previewed else "<span>no preview</span>")
        + (f'<a href="/live/{shown}/">live</a>' if live else "<span>not live</span>")
        + "</li>"
    )


def _page(title: str, body: str) -> str:
    return _PAGE.substitute(title=escape(title), body=body)
