"""Two releases compared: what visitors get now that they did not get before."""

from webordinary.core.release import Release, ReleasedFile
from webordinary.publish.comparing import PAGES_TOLD, became_visible


def release(**files: str) -> Release:
    return Release(tuple(ReleasedFile(name.replace("_", "."), 1, sha) for name, sha in sorted(files.items())))


def test_pages_are_named_and_other_files_counted() -> None:
    before = release(index_html="1", old_html="1", same_html="1", a_css="1", b_jpg="1")
    after = release(index_html="2", new_html="1", same_html="1", a_css="2", c_jpg="1")
    lines = ["index.html: changed", "new.html: new", "old.html: removed", "3 other files"]
    assert became_visible(before, after) == lines


def test_of_many_pages_the_rest_is_counted() -> None:
    many = release(**{f"page{number:02}_html": "1" for number in range(PAGES_TOLD + 2)})
    lines = became_visible(None, many)
    assert lines[-2:] == [f"page{PAGES_TOLD - 1:02}.html: new", "and 2 more pages"]


def test_the_same_is_no_difference() -> None:
    assert became_visible(release(index_html="1"), release(index_html="1")) == []
