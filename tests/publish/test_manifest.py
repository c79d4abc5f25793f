"""The gate: what is published, what is left out, and what stops a release."""

import hashlib
import os
import socket
import threading
from pathlib import Path

import pytest

from tests.publish.site_files import put
from webordinary.core.release import ReleasedFile
from webordinary.publish import manifest as gate
from webordinary.publish.manifest import GateLimits, Passed, Refused, manifest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return put(tmp_path / "site", {"index.html": "<p>hello</p>"})


def refusals(folder: Path, limits: GateLimits | None = None) -> dict[str, str]:
    found = manifest(folder, limits=limits)
    assert isinstance(found, Refused), found
    return {refusal.path: refusal.reason for refusal in found.refusals}


def paths(folder: Path) -> list[str]:
    found = manifest(folder)
    assert isinstance(found, Passed), found
    return [file.path for file in found.release.files]


def test_every_plain_file_is_published_with_its_size_and_hash_in_the_order_of_paths(folder: Path) -> None:
    put(folder, {"b/c.txt": b"", "a.bin": bytes(range(256)), "README.md": "# hello", "b-side.html": "x"})
    found = manifest(folder)
    assert isinstance(found, Passed)
    assert [file.path for file in found.release.files] == [
        "README.md", "a.bin", "b-side.html", "b/c.txt", "index.html",
    ]  # fmt: skip
    assert found.release.files[1] == ReleasedFile("a.bin", 256, hashlib.sha256(bytes(range(256))).hexdigest())


def test_the_same_bytes_are_the_same_release_wherever_they_lie(folder: Path, tmp_path: Path) -> None:
    twin = put(tmp_path / "twin", {"index.html": "<p>hello</p>"})
    first, second = manifest(folder), manifest(twin)
    assert isinstance(first, Passed)
    assert first == second


def test_what_begins_with_a_dot_is_left_out_and_told(folder: Path) -> None:
    put(folder, {".git/config": "x", ".gitignore": "x", ".env": "PASSWORD=1", "a/.hidden/b.html": "x"})
    put(folder, {".well-known/security.txt": "x", ".well-known/.secret": "x", "a/.well-known/x": "x"})
    found = manifest(folder)
    assert isinstance(found, Passed)
    assert [file.path for file in found.release.files] == [".well-known/security.txt", "index.html"]
    assert sorted(found.left_out) == [
        ".env", ".git", ".gitignore", ".well-known/.secret", "a/.hidden", "a/.well-known",
    ]  # fmt: skip


@pytest.mark.parametrize("target", ["index.html", "/etc/passwd", "nowhere", "."])
def test_a_symbolic_link_refuses_the_release_wherever_it_leads(folder: Path, target: str) -> None:
    (folder / "link").symlink_to(target)
    assert "symbolic link" in refusals(folder)["link"]


def test_a_pipe_and_a_socket_are_refused_and_nobody_waits_for_them(folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(folder / "socket"))
        told = refusals(folder)
    assert "pipe" in told["pipe"]
    assert "socket" in told["socket"]


def test_a_hard_link_to_the_outside_is_refused(folder: Path, tmp_path: Path) -> None:
    put(tmp_path, {"private.txt": "mine"})
    (folder / "copy.txt").hardlink_to(tmp_path / "private.txt")
    assert "hard link" in refusals(folder)["copy.txt"]


def test_a_hard_link_inside_the_site_is_two_files(folder: Path) -> None:
    (folder / "twin.html").hardlink_to(folder / "index.html")
    assert paths(folder) == ["index.html", "twin.html"]


@pytest.mark.parametrize(
    "name", [b"caf\xe9.html", b"new\nline.html", b"\x1b[31m.html", "\u202e.html".encode(), b"a\\b"]
)
def test_a_name_that_no_address_can_have_is_refused_and_shown_readably(folder: Path, name: bytes) -> None:
    Path(os.fsdecode(os.fsencode(folder) + b"/" + name)).write_text("x")
    ((path, reason),) = refusals(folder).items()
    assert "its name" in reason
    assert path.isprintable()


def test_a_path_that_is_too_long_or_too_deep_is_refused(folder: Path) -> None:
    put(folder, {"/".join(["x" * 200] * 5) + "/a.html": "x", "/".join("d" * 40) + "/a.html": "x"})
    told = refusals(folder)
    assert any("longer than 900 bytes" in reason for reason in told.values())
    assert any("folders deep" in reason for reason in told.values())


@pytest.mark.parametrize(
    "name", ["id_rsa", "keys/ID_ED25519", "server.pem", "a.p12", "prod.env", "vault.kdbx"]
)
def test_a_file_that_is_named_like_a_secret_is_refused(folder: Path, name: str) -> None:
    put(folder, {name: "x"})
    assert "its name is that of" in refusals(folder)[name]


KEY = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj"
SECRETS = {
    "a private key": f"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n\n{KEY}\n",
    "a private key, in JSON": f'{{"private_key": "-----BEGIN PRIVATE KEY-----\\n{KEY}\\n"}}',
    "an AWS access key": "key = 'AKIA" + "J7Q3XKZ2LMPW5RTB'",
    "an AWS secret key": 'AWS_SECRET_ACCESS_KEY="wJalrXUtnFEMI/K7MDENG/bPxRfiCYzE2r5tH1qQ"',
    "an Anthropic key": "x='sk-ant-api03-" + "q8Zr2LkWm5Xv9TnB4yHc7JdF'",
    "a GitHub token": "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8",
    "a Slack token": "xoxb-" + "123456789012-abcDEF123ghiJKL456",
    "a Stripe secret key": "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc",
}


@pytest.mark.parametrize("kind", SECRETS)
def test_a_secret_inside_a_file_refuses_the_release_and_is_not_repeated(folder: Path, kind: str) -> None:
    put(folder, {"js/app.js": f"// settings\n{SECRETS[kind]}\n"})
    told = refusals(folder)["js/app.js"]
    assert kind.partition(",")[0] in told
    assert not any(word in told for word in SECRETS[kind].split() if len(word) > 12)


@pytest.mark.parametrize(
    "harmless",
    [
        "A private key begins with -----BEGIN PRIVATE KEY----- and must be kept.",
        "AKIAIOSFODNN7EXAMPLE",
        "export ANTHROPIC_API_KEY=sk-ant-xxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "sk-ant-your-key-goes-here-1234567890",
        "https://b.s3.amazonaws.com/x?X-Amz-Credential=AKIAJ7Q3XKZ2LMPW5RTB%2F20240101",
        "pk_live_4eC39HqLyjWDarjtT1zdp7dc",
        "-----BEGIN CERTIFICATE-----\n" + KEY,
        "eighty laughs, a high_light and ghp_short",
    ],
)
def test_writing_about_secrets_is_no_secret(folder: Path, harmless: str) -> None:
    put(folder, {"notes.html": harmless, "talk.key": "a presentation"})
    assert paths(folder) == ["index.html", "notes.html", "talk.key"]


def test_too_many_files_too_many_bytes_and_no_file_at_all_are_refused(folder: Path, tmp_path: Path) -> None:
    put(folder, {f"{number}.txt": "12345" for number in range(10)})
    assert "more than 5 files" in refusals(folder, GateLimits(files_max=5))[""]
    assert "MB together" in refusals(folder, GateLimits(bytes_max=30))[""]
    assert "no file" in refusals(put(tmp_path / "empty", {".gitignore": "x"}))[""]


def test_a_huge_file_is_refused_without_being_read(folder: Path) -> None:
    with (folder / "huge.bin").open("wb") as file:
        file.truncate(1 << 40)
    assert "MB together" in refusals(folder)[""]


def test_a_release_of_nothing_but_links_is_refused_in_bounded_words(folder: Path) -> None:
    for number in range(500):
        (folder / f"link{number}").symlink_to("index.html")
    assert len(refusals(folder)) == gate.REFUSALS_MAX


def test_an_output_folder_that_is_a_link_is_refused(folder: Path, tmp_path: Path) -> None:
    """The build made the folder: it may have made it lead to our own files."""
    (tmp_path / "public").symlink_to(folder)
    (tmp_path / "dist").symlink_to(tmp_path)
    assert isinstance(manifest(tmp_path / "public"), Refused)
    assert isinstance(manifest(tmp_path / "dist" / "site", inside=tmp_path), Refused)
    assert isinstance(manifest(tmp_path / "site" / ".." / "site", inside=tmp_path), Refused)
    assert isinstance(manifest(tmp_path / "nowhere"), Refused)
    assert isinstance(manifest(tmp_path, inside=folder), Refused)
    assert isinstance(manifest(folder, inside=tmp_path), Passed)
    assert isinstance(manifest(folder, inside=folder), Passed)


def test_a_file_that_is_swapped_for_a_link_while_we_look_never_leaks_what_it_leads_to(
    folder: Path, tmp_path: Path
) -> None:
    """A process that outlived its job swaps a name all the time; only the site's own bytes come through."""
    private = put(tmp_path, {"private.txt": "the worker's own"}) / "private.txt"
    own = hashlib.sha256(b"own").hexdigest()
    over = threading.Event()

    def swap() -> None:
        number = 0
        while not over.is_set():
            number += 1
            spare = tmp_path / f"spare{number}"
            if number % 2:
                spare.symlink_to(private)
            else:
                spare.write_bytes(b"own")
            spare.rename(folder / "swapped.txt")

    put(folder, {"swapped.txt": "own"})
    swapper = threading.Thread(target=swap)
    swapper.start()
    try:
        seen: list[Passed | Refused] = []
        while len({type(found) for found in seen}) < 2 or len(seen) < 300:
            seen.append(manifest(folder))
    finally:
        over.set()
        swapper.join()
    for found in seen:
        if isinstance(found, Passed):
            assert [file.sha256 for file in found.release.files if file.path == "swapped.txt"] in ([own], [])
