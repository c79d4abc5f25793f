"""The commands around sites: doctor, send, undo, redo and publish."""

import asyncio
import subprocess

import pytest

from tests.authentication.keys import rsa_pem
from tests.integration.cli_support import Home, home

__all__ = ["home"]

SITE = ("--handler", "site")


def test_the_doctor_tells_what_is_there(home: Home) -> None:
    findings = {one["what"]: one for one in home.json("doctor")}
    assert {"python", "git", "[mail]", "[web]", "home", "store", "agent", "sandbox"} <= set(findings)
    assert findings["git"]["mark"] == "good"
    assert "demo" in findings["agent"]["text"]


def test_the_doctor_finds_a_setting_that_nobody_knows(home: Home) -> None:
    (home.folder / "webordinary.toml").write_text("[work]\nagnet = 'demo'\n")
    said = home.run("doctor")
    assert said.returncode == 1
    assert "bad" in said.stdout
    assert "Did you mean agent?" in said.stdout


def test_the_doctor_prints_the_record_that_whoever_checks_our_signatures_looks_up(home: Home) -> None:
    key = home.folder / "dkim.pem"
    (home.folder / "webordinary.toml").write_text(
        "[mail]\naddress = 'edit@sites.example'\nrelay = 'smtp://127.0.0.1:25'\n"
        f"dkim_selector = 'may'\ndkim_key = '{key}'\n"
    )
    key.write_bytes(rsa_pem(1024, 1))
    (found,) = [one for one in home.json("doctor") if one["what"] == "mail out"]
    assert found["mark"] == "good"
    assert 'publish may._domainkey.sites.example TXT "v=DKIM1; k=rsa; p=' in found["text"]
    key.write_bytes(b"no key")
    said = home.complained("gateway", "--smtp-port", "0", code=2)
    assert "dkim.pem is no private key" in said


def test_a_mail_can_not_be_sent_where_nothing_runs(home: Home) -> None:
    home.said("onboard", "amelia", "--user", "scott", "--sender", "scott@example.com")
    said = home.run("send", "Change the title to Spring")
    assert said.returncode == 4
    assert "nothing runs on" in said.stderr
    assert "webordinary" in said.stderr


@pytest.mark.parametrize(
    "words",
    [
        ("hello", "--from", "not an address"),
        ("hello", "--from", "nobody"),
        ("hello", "--subject", "a\nBcc: everybody@example.com"),
        (" ",),
        ("hello", "--attach", "there-is-none.jpg"),
    ],
)
def test_what_is_no_mail_is_not_sent(home: Home, words: tuple[str, ...]) -> None:
    home.said("onboard", "amelia", "--user", "scott", "--sender", "scott@example.com")
    said = home.run("send", *words)
    assert (said.returncode, said.stdout, said.stderr.count("\n")) == (2, "", 1)


async def test_a_mail_that_may_be_taken_later_is_told_apart_from_one_that_is_refused(home: Home) -> None:
    """A script that sends tries the one again, and not the other."""
    home.said("onboard", "amelia", "--user", "scott", "--sender", "scott@example.com")

    async def sent_to(answer: bytes) -> subprocess.CompletedProcess[str]:
        async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"220 here\r\n")
            while line := await reader.readline():
                writer.write(answer if line.upper().startswith(b"MAIL") else b"250 yes\r\n")
            writer.close()

        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        async with server:
            port = str(server.sockets[0].getsockname()[1])
            return await asyncio.to_thread(home.run, "send", "hello", "--smtp-port", port)

    later, never = await sent_to(b"451 not now\r\n"), await sent_to(b"550 no\r\n")
    assert (later.returncode, "Send it again later" in later.stderr) == (3, True)
    assert (never.returncode, "the mail was refused" in never.stderr) == (2, True)


@pytest.mark.parametrize(
    "setting", ["agent = 'magic'", "sandbox = 'off'", "disk_gb = -1", "agent = 'command'"]
)
def test_a_senseless_setting_of_the_work_is_refused(home: Home, setting: str) -> None:
    (home.folder / "webordinary.toml").write_text(f"[work]\n{setting}\n")
    said = home.run("worker", "--exit-when-idle", "0")
    assert (said.returncode, said.stderr.count("\n")) == (2, 1)
    assert f"[work] {setting.split(maxsplit=1)[0]}" in said.stderr


def test_a_site_is_edited_undone_redone_and_published_from_the_command_line(home: Home) -> None:
    home.said("onboard", "amelia", "--user", "scott", "--sender", "scott@example.com")
    with home.worker(*SITE):
        words = ("submit", "amelia/scott", "Change the main heading to Spring", "--wait", "60")
        job = home.json(*words)["result"]
        assert (job["state"], job["facts"]["preview"]["changes"][0]["new"]) == ("done", "Spring")
        for word in ("undo", "redo", "publish"):
            assert home.json(word, "amelia/scott", "--wait", "60")["result"]["state"] == "done"
        assert home.json("redo", "amelia/scott", "--wait", "60", code=1)["result"]["state"] == "failed"
    shown = home.json("job", str(job["id"]), "--diff")
    assert "+" in shown["diff"]
    assert [event["kind"] for event in shown["events"]][-1] == "ended"


def test_a_build_and_its_output_are_kept_with_the_project(home: Home) -> None:
    words = ("onboard", "amelia", "--user", "scott", "--sender", "scott@example.com")
    home.said(*words, "--build", "hugo --minify", "--output", "public")
    (project,) = home.json("members")
    assert (project["build"], project["output"]) == ("hugo --minify", "public")
    assert "needs --change" not in home.said(*words)
    refused = home.run(*words, "--build", "make")
    assert (refused.returncode, "--build" in refused.stderr) == (4, True)
    assert home.run(*words, "--output", "../elsewhere").returncode == 2
