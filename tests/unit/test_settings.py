"""One reader of settings: the same words mean the same in every table, and what is refused says why."""

import re
from pathlib import Path
from typing import Any

import pytest

from webordinary.core.errors import BadInput
from webordinary.wiring.setting_reader import PREFIX, Setting
from webordinary.wiring.settings import CLOUD, EVERY, MAIL, QUOTAS, WORK, Settings, read

ROOT = Path(__file__).resolve().parents[2]
HOME = Path("/home")
FLAGS = [one for one in EVERY if one.kind is bool]
NUMBERS = [one for one in EVERY if one.kind in (int, float)]


def own(setting: Setting) -> str:
    """Our variable for a setting."""
    return setting.variables[-1]


def value_of(setting: Setting, settings: Settings) -> object:
    holder: Any = getattr(settings, setting.table) if setting.table else settings
    return (
        getattr(holder, setting.name)
        if hasattr(holder, setting.name)
        else getattr(holder.quotas, setting.name)
    )


def named(setting: Setting) -> str:
    return f"{setting.table} {setting.name}".strip()


# --- one rule for each type -----------------------------------------------------------------------


@pytest.mark.parametrize("flag", FLAGS, ids=named)
@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *((text, True) for text in ("yes", "Yes", "true", "on", "1")),
        *((text, False) for text in ("no", "FALSE", "off", "0")),
    ],
)
def test_yes_means_the_same_everywhere(flag: Setting, text: str, meant: bool) -> None:
    """Four readers once disagreed: `yes` switched one flag on and stopped another."""
    assert value_of(flag, read(HOME, {}, {own(flag): text})) is meant


@pytest.mark.parametrize("flag", FLAGS, ids=named)
@pytest.mark.parametrize("text", ["", "maybe", "2", "y"])
def test_what_is_neither_yes_nor_no_is_refused(flag: Setting, text: str) -> None:
    with pytest.raises(BadInput, match=rf"{own(flag)} must be true or false, not '{text}'"):
        read(HOME, {}, {own(flag): text})


@pytest.mark.parametrize("number", NUMBERS, ids=named)
@pytest.mark.parametrize("text", ["", "soon", "-1", "nan", "inf", "1,5", "10 s"])
def test_a_number_is_a_number_everywhere(number: Setting, text: str) -> None:
    with pytest.raises(BadInput) as refused:
        read(HOME, {}, {own(number): text})
    assert str(refused.value) == f"{own(number)} must be {number.allowed}, not {refused_value(text, number)}"


def refused_value(text: str, number: Setting) -> str:
    try:
        return repr(number.kind(text))  # type: ignore[operator]
    except ValueError:
        return repr(text)


@pytest.mark.parametrize("number", NUMBERS, ids=named)
def test_the_file_has_types(number: Setting) -> None:
    """A number in quotes is a slip, and what it was meant to be is not for us to guess."""
    file = {number.table: {number.name: "4"}} if number.table else {number.name: "4"}
    with pytest.raises(BadInput, match=rf"{number.name} must be .*number.*, not '4'"):
        read(HOME, file, {})


def test_lists_have_commas_and_programs_are_split_as_a_shell_would() -> None:
    settings = read(
        HOME,
        {"mail": {"aliases": ["a@x", "b@x"], "upstream_peers": "192.0.2.1"}},
        {
            "WEBORDINARY_MAIL_UPSTREAM": " mx.one , mx.two,",
            "WEBORDINARY_WORK_COMMAND": "edit 'two words' a,b",
        },
    )
    assert settings.mail.aliases == ("a@x", "b@x")
    assert settings.mail.upstream_peers == ("192.0.2.1",)
    assert settings.mail.upstream == ("mx.one", "mx.two")
    assert settings.work.command == ("edit", "two words", "a,b")


@pytest.mark.parametrize(
    ("file", "complaint"),
    [
        ({"mail": {"aliases": [1]}}, "[mail] aliases must be a list of texts, not [1]"),
        (
            {"mail": {"smtp_port": 65_536}},
            "[mail] smtp_port must be a whole number from 0 to 65535, not 65536",
        ),
        ({"mail": {"connections_per_address": 0}}, "a whole number of at least 1, not 0"),
        ({"mail": {"imap_from": "old"}}, "[mail] imap_from must be one of new, all, not 'old'"),
        ({"work": {"disk_gb": 0}}, "[work] disk_gb must be a number above 0, not 0"),
        ({"work": {"command": []}}, '[work] command must be a list of words, such as ["python3", "edit.py"]'),
        ({"work": {"agent": "gpt"}}, "[work] agent must be one of auto, claude, demo, command, not 'gpt'"),
        ({"work": {"browser": 1}}, "[work] browser must be true or false, not 1"),
        ({"cloud": {"endpoint": "ftp://x"}}, "[cloud] endpoint must be a text like https://example.com"),
        (
            {"cloud": {"unclaimed_queue_url": "https://x:0/q"}},
            "[cloud] unclaimed_queue_url must be a text like",
        ),
    ],
)
def test_what_is_refused_says_where_it_is_what_was_found_and_what_is_allowed(
    file: dict[str, object], complaint: str
) -> None:
    with pytest.raises(BadInput) as refused:
        read(HOME, file, {})
    assert str(refused.value).startswith(f"{HOME}/webordinary.toml: ")
    assert complaint in str(refused.value)


@pytest.mark.parametrize("secret", [one for one in EVERY if one.is_secret], ids=named)
def test_a_secret_is_never_shown(secret: Setting) -> None:
    """Logs and bug reports are read by many."""
    with pytest.raises(BadInput) as refused:
        read(HOME, {secret.table: {secret.name: ["hunter2"]}}, {})
    assert "hunter2" not in str(refused.value)
    assert secret.name in str(refused.value)


@pytest.mark.parametrize("setting", EVERY, ids=named)
def test_a_slip_in_any_variable_is_told_with_the_name_that_was_meant(setting: Setting) -> None:
    """Also in those of mail, work and cloud: a misspelt one was once only compared with the others' names."""
    slip = f"{own(setting)[:-2]}{own(setting)[-1]}{own(setting)[-2]}X"
    with pytest.raises(BadInput, match=rf"an unknown setting, {slip}\. Did you mean .*{own(setting)}"):
        read(HOME, {}, {slip: "1"})


def test_the_clouds_own_variables_mean_nothing_on_one_machine() -> None:
    """They are in many people's shells for other programs."""
    environment = {"AWS_ENDPOINT_URL": "nonsense", "AWS_REGION": "us east"}
    assert read(HOME, {}, environment) == Settings(HOME)
    with pytest.raises(BadInput, match=r"AWS_ENDPOINT_URL must be|AWS_REGION must be"):
        read(HOME, {"backend": "aws"}, environment)


def test_our_variable_goes_before_another_programs() -> None:
    both = {"WORKSPACE_PATH": "/theirs", "WEBORDINARY_WORK_WORKSPACE": "/ours"}
    assert read(HOME, {}, both).work.workspace == "/ours"
    assert read(HOME, {"work": {"workspace": "/file"}}, {"WORKSPACE_PATH": ""}).work.workspace == "/file"


# --- the pages ------------------------------------------------------------------------------------


def rows(page: str) -> dict[str, str]:
    """The settings of a page's table, each with its default as written."""
    section = (ROOT / "docs" / page).read_text().partition("\n## Settings\n")[2].partition("\n## ")[0]
    table = section.partition("| setting |")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for names, defaults in re.findall(r"^\| (`.*?) \| (.*?) \| ", table, re.MULTILINE):
        several = re.findall(r"`(\w+)`", names)
        parts = defaults.split(", ") if len(several) > 1 else [defaults]
        found |= dict(
            zip(several, parts if len(parts) == len(several) else parts * len(several), strict=True)
        )
    return found


def written(default: object) -> str:
    """A default as the pages write it."""
    if isinstance(default, bool):
        return str(default).lower()
    return f"{default:g}" if isinstance(default, int | float) else f"`{default}`"


@pytest.mark.parametrize(
    ("page", "settings"), [("mail.md", (*MAIL, *QUOTAS)), ("sites.md", WORK), ("cloud.md", CLOUD)]
)
def test_every_setting_is_on_its_page_with_its_default(page: str, settings: tuple[Setting, ...]) -> None:
    """A setting that nobody can find is a setting nobody needs, and a wrong default costs an evening."""
    found = rows(page)
    assert set(found) == {one.name for one in settings}
    stated = {one.name: written(one.default) for one in settings if one.default not in ("", ())}
    assert {name: found[name] for name in stated} == stated
    unset = {name: text for name, text in found.items() if name not in stated}
    assert [name for name, text in unset.items() if "`" in text or text[0].isdigit()] == []


def test_variables_of_others_are_on_the_page_of_the_cloud() -> None:
    page = (ROOT / "docs" / "cloud.md").read_text()
    others = [name for one in EVERY for name in one.variables if not name.startswith(PREFIX)]
    assert [name for name in others if f"`{name}`" not in page] == []
