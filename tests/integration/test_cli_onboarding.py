"""One command lets somebody edit a site by mail, one takes it away, one shows who may."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from tests.integration.cli_support import Home
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.core.limits import Limits
from webordinary.entrypoints.cli.main import main
from webordinary.system.clock import SystemClock

SCOTT, TARA = "scott@example.org", "tara@example.org"
DONE, USAGE, REFUSED = 0, 2, 4


class Commands:
    """Commands on one home folder, run in this process."""

    def __init__(self, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._home, self._capsys = home, capsys

    def bounced(self, address: str, letter: str, reason: str) -> None:
        """A letter came back to the gateway."""
        backend = open_sqlite(self._home, SystemClock(), Limits())
        asyncio.run(backend.bounces.note(address, letter, reason))
        backend.close()

    def said(self, *words: str, code: int = DONE) -> str:
        """What a command printed, or complained about."""
        assert main([words[0], "--home", str(self._home), *words[1:]]) == code
        out, err = self._capsys.readouterr()
        assert not (out and err)
        assert "Traceback" not in err
        return out or err

    def json(self, *words: str) -> Any:  # noqa: ANN401 - whatever JSON holds
        return json.loads(self.said(*words, "--json"))

    def onboard(self, lane: str, sender: str, *more: str, code: int = DONE) -> str:
        project, user = lane.split("/")
        return self.said("onboard", project, "--user", user, "--sender", sender, *more, code=code)

    def members(self) -> dict[str, dict[str, str]]:
        """User by address, by project."""
        return {
            project["name"]: {member["address"]: member["user"] for member in project["members"]}
            for project in self.json("members")
        }


@pytest.fixture
def webordinary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Commands:
    return Commands(tmp_path / "home", capsys)


# --- in ---------------------------------------------------------------------------------------------


def test_one_command_lets_somebody_in(webordinary: Commands) -> None:
    """Of an operator who has nothing yet, not even a store."""
    said = webordinary.onboard("amelia/scott", SCOTT)
    assert said.splitlines() == [
        "amelia is a new project: policy interrupt, repository of its own",
        "scott@example.org may edit amelia as amelia/scott",
    ]
    assert webordinary.members() == {"amelia": {SCOTT: "scott"}}


def test_the_same_command_adds_users_and_addresses(webordinary: Commands) -> None:
    webordinary.onboard("amelia/scott", SCOTT)
    assert webordinary.onboard("amelia/scott", "s@example.net").splitlines() == [
        "s@example.net may edit amelia as amelia/scott"
    ]
    webordinary.onboard("amelia/tara", TARA)
    assert webordinary.members() == {"amelia": {SCOTT: "scott", "s@example.net": "scott", TARA: "tara"}}


def test_repeating_it_changes_nothing_and_says_what_is_there(webordinary: Commands) -> None:
    webordinary.onboard("amelia/scott", SCOTT, "--policy", "queue")
    before = webordinary.json("members")
    for more in ((), ("--policy", "queue"), ("--change",)):
        said = webordinary.onboard("amelia/scott", " Scott@EXAMPLE.org", *more)
        assert said == (
            "nothing changed: scott@example.org may edit amelia as amelia/scott; "
            "policy queue, repository of its own\n"
        )
    assert webordinary.json("members") == before


def test_an_address_in_letters_of_its_own_is_kept_in_its_ascii_form(webordinary: Commands) -> None:
    assert "info@xn--bckerei-5wa.de may edit" in webordinary.onboard("amelia/scott", "Info@Bäckerei.de")


def test_an_address_may_edit_several_sites_and_that_is_told(webordinary: Commands) -> None:
    """Such a sender is asked which site a new mail is about; the operator should know."""
    webordinary.onboard("amelia/scott", SCOTT)
    said = webordinary.onboard("bravo/scott", SCOTT)
    assert said.splitlines()[-1].startswith("  it may edit amelia, too")


def test_json_tells_the_same(webordinary: Commands, tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    words = ("onboard", "amelia", "--user", "scott", "--sender", SCOTT, "--repo", str(tmp_path / "site"))
    expected = {
        "lane": "amelia/scott",
        "address": SCOTT,
        "policy": "interrupt",
        "repository": str(tmp_path / "site"),
        "build": "",
        "output": "",
        "new_project": True,
        "new_member": True,
        "changed": [],
        "elsewhere": [],
    }
    assert webordinary.json(*words) == expected
    assert webordinary.json(*words) == expected | {"new_project": False, "new_member": False}


def test_a_relative_repository_is_kept_as_a_path_from_everywhere(
    webordinary: Commands, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers start in other folders."""
    (tmp_path / "site").mkdir()
    monkeypatch.chdir(tmp_path)
    webordinary.onboard("amelia/scott", SCOTT, "--repo", "site")
    assert webordinary.json("members")[0]["repository"] == str(tmp_path / "site")


# --- refused ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("project", "user", "reason"),
    [
        ("Amelia", "scott", "project name 'Amelia' may only have lower-case"),
        ("a_b", "scott", "project name"),
        ("a--b", "scott", "single hyphens"),
        ("", "scott", "project name is empty"),
        ("live", "scott", "reserved"),
        ("amelia", "mary-ann", "user name 'mary-ann' may only have"),
        ("amelia", "", "user name is empty"),
        ("amélia", "scott", "project name"),
        ("a" * 40, "b" * 17, "57 characters together; at most 56 fit the name of the lane's queue"),
    ],
)
def test_a_name_that_cannot_be_a_queue_is_refused(
    webordinary: Commands, project: str, user: str, reason: str, tmp_path: Path
) -> None:
    """Found out in the cloud, it would be too late."""
    said = webordinary.said("onboard", project, "--user", user, "--sender", SCOTT, code=USAGE)
    assert reason in said
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("sender", "reason"),
    [
        ("scott", "is no address"),
        ("Scott <scott@example.org>", "write only the address"),
        ("scott@аmelia.com", "CYRILLIC SMALL LETTER A"),
        ("scott@exam\u200bple.org", "ZERO WIDTH SPACE"),
        ("scött@example.org", "before the @"),
    ],
)
def test_what_is_no_plain_address_is_refused(
    webordinary: Commands, sender: str, reason: str, tmp_path: Path
) -> None:
    assert reason in webordinary.onboard("amelia/scott", sender, code=USAGE)
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize(
    ("repository", "reason"),
    [
        ("", "1 to 1000 characters"),
        ("no/such/folder", "there is no folder"),
        ("--upload-pack=evil", "option or a program"),
        ("ext::sh -c evil", "option or a program"),
        ("gopher://example.org/x", "known are https"),
        ("gopher://u:secret@example.org/x", "known are https"),
        ("https:///x", "known are https"),
        ("https://[::1/x", "is no URL"),
        ("https://[v.x]/x", "is no URL"),
        ("https://token@example.org/x", "leave the credentials out"),
        ("ssh://git:secret@example.org/x", "leave the credentials out"),
        ("https://example.org/\n", "can't be seen"),
        ("https://example.org/\ud800", "can't be seen"),
    ],
)
def test_a_repository_that_git_must_never_see_is_refused(
    webordinary: Commands, repository: str, reason: str
) -> None:
    said = webordinary.said(
        "onboard", "amelia", "--user", "scott", "--sender", SCOTT, f"--repo={repository}", code=USAGE
    )
    assert reason in said
    assert "secret" not in said
    assert "token" not in said


@pytest.mark.parametrize(
    "repository",
    [
        "https://example.org/site.git",
        "ssh://git@example.org/site",
        "git@example.org:site.git",
        "file:///srv/x",
        "https://[::1]:8080/x",
    ],
)
def test_a_url_is_kept_as_it_was_given(webordinary: Commands, repository: str) -> None:
    webordinary.onboard("amelia/scott", SCOTT, "--repo", repository)
    assert webordinary.json("members")[0]["repository"] == repository


def test_an_address_is_one_user_of_a_project(webordinary: Commands) -> None:
    """Otherwise one mail would belong to two lanes."""
    webordinary.onboard("amelia/scott", SCOTT)
    said = webordinary.onboard("amelia/tara", SCOTT, "--policy", "queue", "--change", code=REFUSED)
    assert "writes to amelia as amelia/scott already" in said
    assert "offboard amelia/scott --sender scott@example.org" in said
    assert webordinary.json("members")[0]["policy"] == "interrupt"


@pytest.mark.parametrize(
    ("flag", "before", "after"),
    [("--policy", "interrupt", "queue"), ("--repo", "one of its own", "https://example.org/x")],
)
def test_what_is_there_changes_only_when_that_is_said(
    webordinary: Commands, flag: str, before: str, after: str
) -> None:
    """A second user's onboarding must not change the first one's site by the way."""
    webordinary.onboard("amelia/scott", SCOTT)
    said = webordinary.onboard("amelia/tara", TARA, flag, after, code=REFUSED)
    assert f"is {before}, not {after}" in said
    assert f"leave {flag} out" in said
    assert "--change" in said
    assert webordinary.members() == {"amelia": {SCOTT: "scott"}}
    said = webordinary.onboard("amelia/tara", TARA, flag, after, "--change")
    assert "of amelia changed for everybody" in said
    assert after in said
    assert webordinary.members() == {"amelia": {SCOTT: "scott", TARA: "tara"}}
    assert "nothing changed" in webordinary.onboard("amelia/scott", SCOTT)


# --- out --------------------------------------------------------------------------------------------


@pytest.fixture
def two_sites(webordinary: Commands) -> Commands:
    for lane, sender in (
        ("amelia/scott", SCOTT),
        ("amelia/scott", "s@example.net"),
        ("amelia/tara", TARA),
        ("bravo/kim", SCOTT),
    ):
        webordinary.onboard(lane, sender)
    return webordinary


@pytest.mark.parametrize(
    ("words", "left"),
    [
        (["amelia/scott", "--sender", "SCOTT@example.org"], {"s@example.net": "scott", TARA: "tara"}),
        (["amelia", "--sender", SCOTT], {"s@example.net": "scott", TARA: "tara"}),
        (["amelia/scott"], {TARA: "tara"}),
        (["amelia/tara"], {SCOTT: "scott", "s@example.net": "scott"}),
        (["amelia"], None),
    ],
)
def test_one_command_takes_it_away(
    two_sites: Commands, words: list[str], left: dict[str, str] | None
) -> None:
    said = two_sites.said("offboard", *words)
    assert "may no longer edit amelia" in said
    rest = {"amelia": left} if left is not None else {}
    assert two_sites.members() == {**rest, "bravo": {SCOTT: "kim"}}
    two_sites.said("offboard", *words, code=REFUSED)


def test_the_last_one_out_leaves_the_project_behind(webordinary: Commands) -> None:
    webordinary.onboard("amelia/scott", SCOTT)
    said = webordinary.said("offboard", "amelia/scott")
    assert "nobody may edit amelia now; `webordinary offboard amelia` removes it altogether" in said
    assert webordinary.members() == {"amelia": {}}
    assert "nobody" in webordinary.said("members")
    said = webordinary.said("offboard", "amelia")
    assert said == "amelia is no project any more; its jobs and mail stay as history\n"


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["coral"], "there is no project coral"),
        (["amelia/uma"], "nobody writes to amelia/uma"),
        (["amelia", "--sender", "x@example.org"], "x@example.org does not write to amelia"),
        (["amelia/tara", "--sender", SCOTT], "scott@example.org does not write to amelia/tara"),
    ],
)
def test_who_is_not_there_is_told(two_sites: Commands, words: list[str], reason: str) -> None:
    before = two_sites.members()
    assert reason in two_sites.said("offboard", *words, code=REFUSED)
    assert two_sites.members() == before


@pytest.mark.parametrize("words", [["amelia"], ["amelia/scott"], ["amelia", "--sender", SCOTT]])
def test_nobody_is_put_out_while_their_work_is_open(two_sites: Commands, words: list[str]) -> None:
    """The reply to that work would go to somebody who is a stranger by then."""
    two_sites.said("submit", "amelia/scott", "change the title")
    before = two_sites.members()
    assert "1 job is still open there; nothing was changed" in two_sites.said(
        "offboard", *words, code=REFUSED
    )
    assert two_sites.members() == before
    assert "1 open job there will run to the end" in two_sites.said("offboard", *words, "--force")
    assert two_sites.members() != before
    assert [job["state"] for job in two_sites.json("jobs")] == ["queued"]


def test_the_work_of_others_is_no_obstacle(two_sites: Commands) -> None:
    two_sites.said("submit", "amelia/scott", "change the title")
    two_sites.said("offboard", "amelia/tara")
    two_sites.said("offboard", "bravo")


def test_offboard_tells_as_json(two_sites: Commands) -> None:
    assert two_sites.json("offboard", "amelia/tara") == {
        "removed": [{"lane": "amelia/tara", "address": TARA}],
        "removed_project": False,
        "members_left": 2,
        "open_jobs": 0,
    }


# --- who may ----------------------------------------------------------------------------------------


def test_whose_mail_comes_back_is_seen_by_the_operator(two_sites: Commands) -> None:
    """One letter that came back may be an accident; three in a row are shown, wherever one looks first."""
    for number in range(3):
        two_sites.bounced("tara@example.org", f"letter {number}", "5.1.1 no such user")
    two_sites.bounced("s@example.net", "letter 9", "5.2.2 mailbox full")
    told = two_sites.said("members")
    assert "tara@example.org (comes back)" in told
    assert "mail to tara@example.org comes back: 3 letters, the first" in told
    assert "s@example.net (" not in told
    assert "comes back" not in two_sites.said("members", "bravo")
    assert {
        member["address"]: member["bouncing"]
        for project in two_sites.json("members")
        for member in project["members"]
    } == {"s@example.net": None, "scott@example.org": None, "tara@example.org": "5.1.1 no such user"}
    assert "mail to tara@example.org comes back" in two_sites.said("status")
    assert [one["address"] for one in two_sites.json("status")["bouncing"]] == ["tara@example.org"]
    two_sites.said("offboard", "amelia/tara")
    assert "comes back" not in two_sites.said("status")


def test_members_are_shown_as_a_table(two_sites: Commands) -> None:
    assert two_sites.said("members").splitlines() == [
        "PROJECT  USER   ADDRESS            POLICY     REPOSITORY",
        "amelia   scott  s@example.net      interrupt  its own",
        "amelia   scott  scott@example.org  interrupt  its own",
        "amelia   tara   tara@example.org   interrupt  its own",
        "bravo    kim    scott@example.org  interrupt  its own",
    ]
    assert len(two_sites.said("members", "bravo").splitlines()) == 2
    assert [project["name"] for project in two_sites.json("members", "bravo")] == ["bravo"]
    assert "there is no project coral" in two_sites.said("members", "coral", code=REFUSED)


def test_members_of_nothing_are_told_how_to_begin(webordinary: Commands) -> None:
    webordinary.said("submit", "amelia/scott", "hello")
    assert "no projects yet: add one" in webordinary.said("members")
    assert webordinary.json("members") == []


@pytest.mark.parametrize("words", [("members",), ("offboard", "amelia")])
def test_looking_creates_no_store(webordinary: Commands, tmp_path: Path, words: tuple[str, ...]) -> None:
    assert "there is nothing in" in webordinary.said(*words, code=REFUSED)
    assert not (tmp_path / "home").exists()


def test_it_works_as_a_process_of_its_own(tmp_path: Path) -> None:
    home = Home(tmp_path / "home")
    home.said("onboard", "amelia", "--user", "scott", "--sender", SCOTT)
    assert SCOTT in home.said("members", "amelia")
    assert "CYRILLIC" in home.complained(
        "onboard", "amelia", "--user", "x", "--sender", "scott@аmelia.com", code=USAGE
    )
    home.said("offboard", "amelia")
