"""Published sites over real HTTP."""

import asyncio
import signal
from collections.abc import AsyncIterator
from pathlib import Path

import httpx
import pytest

from tests.publish.site_files import PROJECT, claim, grow_old, put, released, site
from webordinary.core.errors import BackendUnavailable
from webordinary.sites.folder_publisher import FolderPublisher
from webordinary.sites.server import kept_path, serve_sites


@pytest.fixture
async def port(root: Path) -> AsyncIterator[int]:
    served = await serve_sites(root)
    yield served.port
    await served.stop()


@pytest.fixture
async def web(port: int) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
        yield client


@pytest.fixture
async def amelia(publisher: FolderPublisher, tmp_path: Path) -> Path:
    """A site that is previewed."""
    folder = put(
        tmp_path / "amelia",
        {
            "index.html": "<p>hello</p>",
            "about/index.html": "about",
            "ä b&c.html": "odd name",
            "film.mp4": bytes(range(100)),
            "style.css": "p{}",
            ".well-known/security.txt": "contact",
        },
    )
    await publisher.publish(claim(1), released(folder), folder, "c1")
    return folder


async def test_the_preview_is_at_the_projects_name_and_the_live_site_below_live(
    web: httpx.AsyncClient, publisher: FolderPublisher, amelia: Path, tmp_path: Path
) -> None:
    page = await web.get("/amelia/")
    assert (page.status_code, page.text) == (200, "<p>hello</p>")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert (await web.get("/live/amelia/")).status_code == 404
    await publisher.promote(claim(1))
    await publisher.publish(claim(1), *site(tmp_path / "next", "next"), "c2")
    assert (await web.get("/live/amelia/")).text == "<p>hello</p>"
    assert (await web.get("/amelia/")).text == "<p>next</p>"


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("/amelia/index.html", "<p>hello</p>"),
        ("/amelia/about/", "about"),
        ("/amelia/%C3%A4%20b%26c.html", "odd name"),
        ("/amelia/.well-known/security.txt", "contact"),
        ("/amelia/style.css?v=2", "p{}"),
    ],
)
async def test_files_and_index_pages_are_found(
    web: httpx.AsyncClient, amelia: Path, path: str, text: str
) -> None:
    assert (await web.get(path)).text == text


@pytest.mark.parametrize(("path", "to"), [("/amelia", "/amelia/"), ("/amelia/about", "/amelia/about/")])
async def test_a_folder_without_its_slash_is_redirected(
    web: httpx.AsyncClient, amelia: Path, path: str, to: str
) -> None:
    """Relative links on the page would lead elsewhere."""
    answer = await web.get(path)
    assert (answer.status_code, answer.headers["location"]) == (307, to)


@pytest.mark.parametrize(
    "path",
    [
        "/nobody/", "/amelia/gone.html", "/amelia/film.mp4/", "/amelia//index.html", "/amelia/.git/config",
        "/AMELIA/", "/live/", "/live/live/", "/amelia/../places.json", "/%2e%2e/%2e%2e/etc/passwd",
        "/amelia/..%2f..%2fplaces.json", "/amelia/%00", "/../../../../etc/passwd", "//etc/passwd",
        "/amelia/%ff", "/amelia/../../amelia/index.html",
    ],
)  # fmt: skip
async def test_what_is_not_published_is_not_there_whatever_the_path(
    port: int, amelia: Path, path: str
) -> None:
    """Sent as it is: a client library would tidy the path up first."""
    (amelia.parent / "secret.txt").write_text("secret")
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(f"GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    if path == "/live/":
        assert "Sites" in answer  # the list
    else:
        assert answer.startswith("HTTP/1.1 404"), answer
        assert "There is nothing at this address" in answer


async def test_a_site_may_have_its_own_page_for_what_is_not_there(
    web: httpx.AsyncClient, publisher: FolderPublisher, tmp_path: Path
) -> None:
    folder = put(tmp_path / "a", {"index.html": "x", "404.html": "ours"})
    await publisher.publish(claim(1), released(folder), folder, "c1")
    answer = await web.get("/amelia/gone")
    assert (answer.status_code, answer.text) == (404, "ours")


async def test_an_unchanged_page_is_not_sent_again_and_a_changed_one_is(
    web: httpx.AsyncClient, publisher: FolderPublisher, amelia: Path
) -> None:
    first = await web.get("/amelia/")
    known = {"if-none-match": f'"other", W/{first.headers["etag"]}'}
    again = await web.get("/amelia/", headers=known)
    assert (again.status_code, again.content, again.headers["etag"]) == (304, b"", first.headers["etag"])
    put(amelia, {"index.html": "<p>later</p>"})
    await publisher.publish(claim(1), released(amelia), amelia, "c2")
    assert (await web.get("/amelia/", headers=known)).text == "<p>later</p>"
    assert (await web.get("/amelia/style.css")).headers["cache-control"] == "no-cache"


async def test_a_part_of_a_film_can_be_asked_for(web: httpx.AsyncClient, amelia: Path) -> None:
    whole = await web.get("/amelia/film.mp4")
    part = await web.get(
        "/amelia/film.mp4", headers={"range": "bytes=10-19", "if-range": whole.headers["etag"]}
    )
    assert (part.status_code, part.content) == (206, bytes(range(10, 20)))
    assert (await web.get("/amelia/film.mp4", headers={"range": "bytes=900-"})).status_code == 416


async def test_only_looking_is_allowed(web: httpx.AsyncClient, amelia: Path) -> None:
    head = await web.head("/amelia/")
    assert (head.status_code, head.content, head.headers["content-length"]) == (200, b"", "12")
    for method in ("POST", "PUT", "DELETE", "PATCH", "OPTIONS"):
        assert (await web.request(method, "/amelia/")).status_code == 405


async def test_every_answer_is_safe_to_show(web: httpx.AsyncClient, amelia: Path) -> None:
    for path in ("/", "/amelia/", "/amelia", "/gone/", "/amelia/film.mp4"):
        answer = await web.get(path)
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers
    assert (await web.post("/")).headers["x-content-type-options"] == "nosniff"


async def test_the_first_page_lists_the_sites(
    web: httpx.AsyncClient, publisher: FolderPublisher, root: Path, tmp_path: Path
) -> None:
    assert "Nothing is published yet" in (await web.get("/")).text
    await publisher.publish(claim(1), *site(tmp_path / "a", "one"), "c1")
    (root / "<b>").mkdir()
    page = (await web.get("/")).text
    assert 'href="/amelia/"' in page
    assert "not live" in page
    assert "<b>" not in page
    await publisher.promote(claim(1))
    assert 'href="/live/amelia/"' in (await web.get("/")).text


async def test_links_from_the_top_are_found_by_the_page_they_are_on(
    web: httpx.AsyncClient, port: int, amelia: Path
) -> None:
    """Most sites are made for the top of a server, and a preview is below it."""
    here = f"http://127.0.0.1:{port}/amelia/about/"
    answer = await web.get("/style.css", headers={"referer": here})
    assert (answer.status_code, answer.headers["location"]) == (307, "/amelia/style.css")
    assert (await web.get("/about", headers={"referer": here})).headers["location"] == "/amelia/about"
    for referer in (
        "",
        "http://elsewhere.example/amelia/",
        f"http://127.0.0.1:{port}/nobody/",
        "http://[",
        here,
    ):
        gone = await web.get("/gone.css" if referer == here else "/style.css", headers={"referer": referer})
        assert gone.status_code == 404


async def test_a_damaged_pointer_is_told_in_plain_words(
    web: httpx.AsyncClient, amelia: Path, root: Path
) -> None:
    (root / PROJECT / "places.json").write_text("{")
    answer = await web.get("/amelia/")
    assert answer.status_code == 503
    assert "Nothing of it is lost" in answer.text
    assert (await web.get("/")).status_code == 200


async def test_visitors_never_meet_a_missing_or_mixed_page_while_releases_are_switched(
    web: httpx.AsyncClient, publisher: FolderPublisher, tmp_path: Path
) -> None:
    """A large page takes several reads: they must all be of one release."""
    sites = []
    for number in range(6):
        folder = put(
            tmp_path / str(number), {"index.html": f"{number}" * 200_000, "about/index.html": "about"}
        )
        sites.append((released(folder), folder))
    await publisher.publish(claim(1), *sites[0], "c")
    over = asyncio.Event()
    seen: list[str] = []

    async def visit() -> None:
        while not over.is_set():
            page, about = await web.get("/amelia/"), await web.get("/amelia/about/")
            assert page.status_code == about.status_code == 200
            assert len(page.text) == 200_000
            assert len(set(page.text)) == 1
            seen.append(page.text[0])

    visitors = [asyncio.create_task(visit()) for _ in range(4)]
    number = 0
    while (len(seen) < 100 or len(set(seen)) < 4) and not any(visitor.done() for visitor in visitors):
        number += 1
        await publisher.publish(claim(1), *sites[number % 6], "c")
    over.set()
    await asyncio.gather(*visitors)


async def test_a_port_that_is_taken_is_told(root: Path, port: int) -> None:
    with pytest.raises(BackendUnavailable, match=f"can't listen on 127.0.0.1 port {port}"):
        await serve_sites(root, port=port)


async def test_a_stopped_server_frees_its_port_and_sets_no_signal_handler(root: Path) -> None:
    handlers = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    served = await serve_sites(root)
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == handlers
    await served.stop()
    again = await serve_sites(root, port=served.port)
    assert again.port == served.port
    await again.stop()


# --- releases that are kept -----------------------------------------------------------------------


@pytest.fixture
async def two(publisher: FolderPublisher, tmp_path: Path) -> tuple[str, str]:
    """A former release, and the one that is previewed."""
    former, latest = site(tmp_path / "former", "former"), site(tmp_path / "latest", "latest")
    await publisher.publish(claim(1), *former, "c1")
    await publisher.publish(claim(1), *latest, "c2")
    return former[0].id, latest[0].id


async def test_a_kept_release_is_seen_as_it_was(web: httpx.AsyncClient, two: tuple[str, str]) -> None:
    """An old job's page must not show today's site."""
    former, latest = two
    assert (await web.get("/amelia/")).text == "<p>latest</p>"
    assert (await web.get(kept_path("amelia", former))).text == "<p>former</p>"
    assert (await web.get(kept_path("amelia", latest))).text == "<p>latest</p>"
    assert (await web.get(f"/-/amelia/{former}/css/site.css")).text == "former"
    slash = await web.get(f"/-/amelia/{former}")
    assert (slash.status_code, slash.headers["location"]) == (307, f"/-/amelia/{former}/")
    folder = await web.get(f"/-/amelia/{former}/about")
    assert folder.headers["location"] == f"/-/amelia/{former}/about/"
    assert (await web.post(f"/-/amelia/{former}/")).status_code == 405


async def test_links_from_the_top_stay_in_the_kept_release(
    web: httpx.AsyncClient, port: int, two: tuple[str, str]
) -> None:
    here = f"http://127.0.0.1:{port}/-/amelia/{two[0]}/about/"
    answer = await web.get("/css/site.css", headers={"referer": here})
    assert answer.headers["location"] == f"/-/amelia/{two[0]}/css/site.css"


async def test_a_site_may_have_files_that_look_like_a_kept_release(
    web: httpx.AsyncClient, publisher: FolderPublisher, two: tuple[str, str], tmp_path: Path
) -> None:
    """What is kept is beside the sites, never in front of their files."""
    own = f"-/amelia/{two[0]}/index.html"
    folder = put(tmp_path / "odd", {"index.html": "x", own: "the site's own"})
    await publisher.publish(claim(1), released(folder), folder, "c3")
    assert (await web.get(f"/amelia/{own}")).text == "the site's own"


@pytest.mark.parametrize(
    "path",
    ["/-", "/-/", "/-/amelia", "/-/amelia/", "/-/amelia/..", "/-/amelia/../", "/-/amelia/%2e%2e/places.json",
     "/-/amelia/0123456789abcdef01234567/", "/-/nobody/{former}/", "/-/../{former}/", "/live/-/{former}/",
     "/-/amelia/{former}/../../places.json", "/-/amelia/{former}/gone.html", "/-/amelia/unfinished/"],
)  # fmt: skip
async def test_only_whole_releases_are_kept_there(port: int, two: tuple[str, str], path: str) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    asked = path.replace("{former}", two[0])
    writer.write(f"GET {asked} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n".encode())
    answer = (await reader.read()).decode()
    writer.close()
    await writer.wait_closed()
    assert answer.startswith("HTTP/1.1 404"), answer


async def test_a_pruned_release_is_gone(
    web: httpx.AsyncClient, publisher: FolderPublisher, root: Path, two: tuple[str, str], tmp_path: Path
) -> None:
    assert (await web.get(kept_path("amelia", two[0]))).status_code == 200  # and its manifest remembered
    for word in ("third", "fourth"):
        grow_old(root)
        await publisher.publish(claim(1), *site(tmp_path / word, word), word)
    assert (await web.get(kept_path("amelia", two[0]))).status_code == 404
