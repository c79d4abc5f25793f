"""The few pages that the server of sites has of its own."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from string import Template

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
