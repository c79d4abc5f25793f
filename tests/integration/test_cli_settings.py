"""Settings: where they come from, which one wins, and what is refused."""

from pathlib import Path

import pytest

from tests.integration.cli_support import Home, home
from webordinary.core.errors import BadInput, BadLimits
from webordinary.core.limits import Limits
from webordinary.wiring.settings import FILE_NAME, Settings, home_folder, load

__all__ = ["home"]


def written(folder: Path, text: str) -> Path:
    (folder / FILE_NAME).write_text(text)
    return folder


def test_without_any_settings_there_are_defaults(tmp_path: Path) -> None:
    assert load(tmp_path, {}) == Settings(tmp_path, Limits(), slots=4, handler=None, command=())


def test_the_environment_goes_before_the_file(tmp_path: Path) -> None:
    folder = written(
        tmp_path,
        'slots = 2\nhandler = "command"\ncommand = ["edit", "-x"]\n'
        "[limits]\nlease_seconds = 90\ndeliveries_max = 3\n",
    )
    settings = load(folder, {"WEBORDINARY_SLOTS": "8", "WEBORDINARY_LEASE_SECONDS": "120.5"})
    assert (settings.slots, settings.handler, settings.command) == (8, "command", ("edit", "-x"))
    assert (settings.limits.lease_seconds, settings.limits.deliveries_max) == (120.5, 3)
    assert load(folder, {"WEBORDINARY_COMMAND": "edit 'two words'"}).command == ("edit", "two words")


def test_the_home_folder_is_found_by_flag_then_environment_then_data_folder(tmp_path: Path) -> None:
    named = {"WEBORDINARY_HOME": "/b", "XDG_DATA_HOME": "/c"}
    assert home_folder("/a", named) == Path("/a")
    assert home_folder(None, named) == Path("/b")
    assert home_folder(None, {"XDG_DATA_HOME": "/c"}) == Path("/c/webordinary")
    assert home_folder(None, {}) == Path.home() / ".local/share/webordinary"


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("slot = 3", "an unknown setting, slot. Did you mean slots?"),
        ("[limits]\nlease_second = 3", "Did you mean lease_seconds"),
        ("zzz = 3", "Known are: backend, cloud, command, handler, limits, mail, slots, work."),
        ("slots = 0", "slots must be a whole number from 1 to 1000, not 0"),
        ("slots = true", "slots must be a whole number"),
        ('slots = "4"', "slots must be a whole number"),
        ('handler = "magic"', "handler must be one of site, echo, sleep, command, not 'magic'"),
        ('command = "edit"', "command must be a list of words"),
        ("command = []", "command must be a list of words"),
        ("limits = 3", "write limits as a table"),
        ('[limits]\nlease_seconds = "long"', "lease_seconds must be a number, not 'long'"),
        ("[limits]\nlease_seconds = nan", "lease_seconds must be a number, not nan"),
        ("[limits]\ndeliveries_max = 2.5", "deliveries_max must be a whole number"),
        ("slots = ", "is not valid TOML"),
    ],
)
def test_a_senseless_file_is_refused_with_its_path_and_what_is_wrong(
    tmp_path: Path, text: str, complaint: str
) -> None:
    with pytest.raises(BadInput) as refused:
        load(written(tmp_path, text), {})
    assert complaint in str(refused.value)
    assert str(tmp_path / FILE_NAME) in str(refused.value)


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("WEBORDINARY_SLOT", "3", "Did you mean WEBORDINARY_SLOTS?"),
        ("WEBORDINARY_SLOTS", "many", "WEBORDINARY_SLOTS must be a whole number"),
        ("WEBORDINARY_BEAT_SECONDS", "soon", "WEBORDINARY_BEAT_SECONDS must be a number, not 'soon'"),
    ],
)
def test_a_senseless_environment_is_refused(tmp_path: Path, name: str, value: str, complaint: str) -> None:
    with pytest.raises(BadInput, match="WEBORDINARY") as refused:
        load(tmp_path, {name: value})
    assert complaint in str(refused.value)


def test_what_a_job_is_told_and_what_tests_set_are_no_settings(tmp_path: Path) -> None:
    others = dict.fromkeys(
        ("WEBORDINARY_HOME", "WEBORDINARY_JOB", "WEBORDINARY_LANE", "WEBORDINARY_TEST_X"), "whatever"
    )
    assert load(tmp_path, others) == load(tmp_path, {})


def test_limits_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    with pytest.raises(BadLimits, match="two lost beats are survivable"):
        load(written(tmp_path, "[limits]\nlease_seconds = 10\nbeat_seconds = 5\n"), {})


def test_bad_settings_stop_every_command_in_one_sentence(home: Home) -> None:
    home.folder.joinpath(FILE_NAME).write_text("slot = 3")
    for words in (("status",), ("submit", "a/b", "x"), ("worker",), ("up",)):
        complaint = home.complained(*words, code=2)
        assert "Did you mean slots?" in complaint
        assert len(complaint.splitlines()) == 1
