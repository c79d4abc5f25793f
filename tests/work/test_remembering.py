"""What the next job is told about work that did not come into the site."""

import pytest

from webordinary.work.session_memory import kept_in_words


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ([], ""),
        (["index.html"], "changes to index.html"),
        (["a.html", "b.html"], "changes to a.html and b.html"),
        (["a.html", "b.html", "c.html"], "changes to a.html, b.html and c.html"),
        (["a.html", "b.html", "c.html", "d.html"], "changes to a.html, b.html, c.html and 1 more file"),
        (["a.html"] * 9, "changes to a.html, a.html, a.html and 6 more files"),
    ],
)
def test_unfinished_work_is_named(files: list[str], words: str) -> None:
    assert kept_in_words(files) == words
