"""Names of lanes: what cannot be a queue, a folder and a bucket alike is refused, and the rule is named."""

from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webordinary.core.errors import BadInput, BadLane
from webordinary.core.lane import NAME_CHARACTERS_TOGETHER, QUEUE_NAME_CHARACTERS, Lane

PROJECT_RULE = "lower-case a-z, 0-9 and single hyphens inside"
USER_RULE = "lower-case a-z and 0-9"

BAD_IN_BOTH = {
    "the key's separator": "ame#lia",
    "the path's separator": "ame/lia",
    "two dots": "..",
    "a dot": "amelia.com",
    "a space": "ame lia",
    "a space at the end": "amelia ",
    "a newline at the end": "amelia\n",
    "a tab": "ame\tlia",
    "a NUL": "amelia\x00",
    "upper case": "Amelia",
    "an underscore": "ame_lia",
    "a Cyrillic a": "аmelia",
    "a full-width letter": "ａmelia",
    "a full-width digit": "amelia１",
    "an Arabic digit": "amelia٣",
    "a dotless i": "amelıa",
    "an umlaut": "amélia",
    "a long s, which lower() keeps": "ameliaſ",
    "a Kelvin sign, which lower() makes a k": "ameliaK",
    "a zero-width joiner": "ame\u200dlia",
    "a soft hyphen": "ame\u00adlia",
    "a non-breaking hyphen": "ame\u2011lia",
    "an emoji": "amelia🌷",
    "a shell word": "$(id)",
    "a quote": "o'hara",
    "a percent sign": "100%",
}


@pytest.mark.parametrize("name", BAD_IN_BOTH.values(), ids=list(BAD_IN_BOTH))
def test_a_bad_name_is_refused_with_the_rule_it_breaks(name: str) -> None:
    """What looks like `amelia` and is not would be somebody else's site."""
    with pytest.raises(BadLane, match=f"project name .* may only have {PROJECT_RULE}"):
        Lane(name, "scott")
    with pytest.raises(BadLane, match=f"user name .* may only have {USER_RULE}"):
        Lane("amelia", name)


@pytest.mark.parametrize("name", ["-amelia", "amelia-", "ame--lia", "-"])
def test_a_project_has_single_hyphens_and_only_inside(name: str) -> None:
    with pytest.raises(BadLane, match=PROJECT_RULE):
        Lane(name, "scott")


def test_a_user_has_no_hyphen_so_that_no_two_lanes_share_a_queue_name() -> None:
    """`a-b` + `c` and `a` + `b-c` would both be `webordinary-input-a-b-c.fifo`."""
    with pytest.raises(BadLane, match=USER_RULE):
        Lane("a", "b-c")
    assert Lane("a-b", "c").project == "a-b"


def test_an_empty_name_is_refused() -> None:
    with pytest.raises(BadLane, match="project name is empty"):
        Lane("", "scott")
    with pytest.raises(BadLane, match="user name is empty"):
        Lane("amelia", "")


def test_a_name_too_long_for_a_cloud_queue_is_refused_with_the_number_that_fits() -> None:
    Lane("a" * (NAME_CHARACTERS_TOGETHER - 1), "b")
    with pytest.raises(BadLane, match=f"at most {NAME_CHARACTERS_TOGETHER} fit"):
        Lane("a" * NAME_CHARACTERS_TOGETHER, "b")


def test_the_longest_lane_fits_a_queue_name() -> None:
    lane = Lane("a" * (NAME_CHARACTERS_TOGETHER - 1), "b")
    queue = f"webordinary-input-{lane.project}-{lane.user}.fifo"
    assert len(queue) == QUEUE_NAME_CHARACTERS


def test_a_reserved_name_is_refused() -> None:
    with pytest.raises(BadLane, match="'live' is reserved"):
        Lane("live", "scott")


def test_a_lane_is_read_the_way_it_is_written() -> None:
    lane = Lane("amelia-2", "scott7")
    assert Lane.parse("amelia-2/scott7") == lane == Lane.parse(str(lane))
    assert Lane.from_key("amelia-2#scott7") == lane == Lane.from_key(lane.key)


@pytest.mark.parametrize(
    "text", ["amelia", "", "amelia#scott", "amelia/", "/scott", "amelia/scott/x", "a b/c"]
)
def test_what_is_no_lane_is_not_read_as_one(text: str) -> None:
    with pytest.raises(BadLane):
        Lane.parse(text)


def test_a_missing_slash_is_answered_with_an_example() -> None:
    with pytest.raises(BadLane, match="amelia/scott"):
        Lane.parse("amelia")


@given(st.text(max_size=60), st.text(max_size=60))
def test_no_text_at_all_does_anything_but_become_a_lane_or_be_refused(project: str, user: str) -> None:
    try:
        lane = Lane(project, user)
    except BadInput:
        return
    assert f"{project}{user}".isascii()
    assert Lane.from_key(lane.key) == Lane.parse(str(lane)) == lane


def test_different_lanes_have_different_keys_and_queue_names() -> None:
    names = ["a", "b", "a1", "1a", "a-b", "a-b-c", "b-c", "ab"]
    lanes = [Lane(project, user) for project, user in product(names, names) if "-" not in user]
    assert len({lane.key for lane in lanes}) == len(lanes)
    assert len({f"{lane.project}-{lane.user}" for lane in lanes}) == len(lanes)
