"""Broken links inside a site."""

from pathlib import Path

import pytest

from tests.publish.site_files import put, released
from webordinary.publish.links import BROKEN_MAX, broken_links

PAGES = {
    "index.html": "home",
    "about/index.html": "about",
    "about/team.html": "team",
    "img/a b.png": "x",
    "img/c.png": "x",
}


def broken(tmp_path: Path, html: str, page: str = "about/page.html", base: str = "/") -> list[str]:
    put(tmp_path, {**PAGES, page: html})
    return [link.target for link in broken_links(tmp_path, released(tmp_path), base=base)]


@pytest.mark.parametrize(
    "html",
    [
        '<a href="team.html">', '<a href="./team.html#top">', '<a href="../index.html?x=1">', '<a href="..">',
        '<a href="/about">', '<a href="/about/">', '<a href="/">', '<a href="#part">', '<a href="">',
        '<img src="../img/a%20b.png">', '<img src="../img/a b.png">', "<IMG SRC=../img/c.png>",
        '<img srcset="../img/c.png 1x, ../img/a%20b.png 2x">', '<a href="https://example.org/nowhere">',
        '<img srcset="data:image/png;base64,iVBORw0 1x, https://x.example/w_1,h_2/a.png 2x">',
        '<a href="//example.org/x">', '<a href="mailto:a@example.org">', '<a href="tel:1">',
        '<a href="javascript:void(0)">', '<img src="data:image/png;base64,x">', '<a href="{{ url }}">',
        '<link rel="canonical" href="/elsewhere">', '<!-- <a href="gone.html"> -->', '<a href="http://[">',
        '<script>let x = "<a href=\'gone.html\'>"</script>', '<base href="/img/"><img src="c.png">',
        '<base href="https://cdn.example/"><img src="c.png">', '<a href="../../../index.html">',
    ],
)  # fmt: skip
def test_a_link_that_works_or_leaves_the_site_is_not_told(tmp_path: Path, html: str) -> None:
    assert broken(tmp_path, html) == []


@pytest.mark.parametrize(
    ("html", "target"),
    [
        ('<a href="gone.html">', "gone.html"),
        ('<a href="/gone/">', "/gone/"),
        ('<a href="/img/">', "/img/"),
        ('<a href="../gone.html#part">', "../gone.html#part"),
        ("<img src=/img/d.png>", "/img/d.png"),
        ('<img srcset="../img/c.png 1x, ../img/d.png 2x">', "../img/d.png"),
        ('<link rel="stylesheet" href="site.css">', "site.css"),
        ('<video poster="p.png"></video>', "p.png"),
        ('<base href="/img/"><a href="team.html">', "team.html"),
    ],
)
def test_a_link_to_nowhere_is_told_as_it_is_written(tmp_path: Path, html: str, target: str) -> None:
    assert broken(tmp_path, html) == [target]


def test_a_site_below_a_path_must_link_below_it(tmp_path: Path) -> None:
    html = '<a href="/about/">bad</a> <a href="/amelia/about/">good</a> <a href="team.html">good</a>'
    assert broken(tmp_path, html, base="/amelia/") == ["/about/"]


def test_the_same_broken_link_is_told_once_for_each_page_and_not_without_end(tmp_path: Path) -> None:
    assert broken(tmp_path, '<a href="gone.html">' * 3) == ["gone.html"]
    many = "".join(f'<a href="gone{number}.html">' for number in range(500))
    assert len(broken(tmp_path, many)) == BROKEN_MAX


@pytest.mark.parametrize("word", ["<!--", "<a href='", "<", "<![CDATA[", "<script>", "&#", "<a href=x"])
def test_a_hostile_page_ends_soon(tmp_path: Path, word: str) -> None:
    broken(tmp_path, word * 50_000)
