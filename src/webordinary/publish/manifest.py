"""The gate: which files of a folder are a release, and which must not be published at all.

Published is every regular file inside the folder. Left out, and told, is what begins with a dot, but for
`.well-known` at the top: such files are for tools, not for visitors. Nothing else is left out: whoever has
a README beside the pages and no build publishes it. Refused, and with it the whole release, is what can't
be an accident of no account: links, devices, secrets, names that no address can have, too many, too large.

Repository code made these files, so no name is trusted twice: a file is opened without following a link,
and what was opened is what is looked at and hashed.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import re
import stat
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from webordinary.core.release import Refusal, Release, ReleasedFile
from webordinary.publish.files import open_folder, open_folder_beneath, open_plain_file

SCANNED_BYTES = 4_000_000  # of one file, from its beginning
_BINARY_SIGN_WITHIN = 8_000  # a NUL within so many bytes: not text
_DIFFERENT_BYTES_MIN = 8  # "sk-ant-xxxxxxxxxxxxxxxx" and the like are there to be replaced
_MADE_UP = (b"example", b"your", b"xxxx", b"placeholder", b"....", b"****")

_NAMES = re.compile(
    r"(?P<key>id_(rsa|dsa|ecdsa|ed25519)|.*\.(pem|ppk))"
    r"|(?P<store>.*\.(p12|pfx|jks|keystore|kdbx))"
    r"|(?P<passwords>.*\.env|credentials\.csv|htpasswd|.*_accesskeys\.csv)",
    re.IGNORECASE,
)
_NAME_KINDS = {
    "key": "its name is that of a private key",
    "store": "its name is that of a store of keys or passwords",
    "passwords": "its name is that of a file with passwords",
}


@dataclass(frozen=True, slots=True)
class _Shape:
    """A kind of secret. Only where the mark is found the slower pattern is tried."""

    kind: str
    mark: bytes
    pattern: re.Pattern[bytes]


def _shape(kind: str, mark: str, pattern: str) -> _Shape:
    return _Shape(kind, mark.encode(), re.compile(pattern.encode()))


_SHAPES = (
    # Prose about keys has the first line; only a key goes on with its letters.
    _shape("a private key", " PRIVATE KEY", r"-----BEGIN [A-Z0-9 ]{0,30}PRIVATE KEY[A-Z ]{0,10}-----"
           r"(?s:.){0,300}?(?P<secret>[A-Za-z0-9+/]{40,})"),
    # Not in a signed address, which has it in the open.
    _shape("an AWS access key", "AKIA", r"(?<![A-Za-z0-9=])(?P<secret>AKIA[A-Z2-7]{16})(?![A-Za-z0-9])"),
    _shape("an AWS access key", "ASIA", r"(?<![A-Za-z0-9=])(?P<secret>ASIA[A-Z2-7]{16})(?![A-Za-z0-9])"),
    _shape("an AWS secret key", "aws_secret_access_key",
           r"aws_secret_access_key[\"']?\s{0,5}[=:]\s{0,5}[\"']?(?P<secret>[A-Za-z0-9/+]{40})"),
    _shape("an AWS secret key", "AWS_SECRET_ACCESS_KEY",
           r"AWS_SECRET_ACCESS_KEY[\"']?\s{0,5}[=:]\s{0,5}[\"']?(?P<secret>[A-Za-z0-9/+]{40})"),
    _shape("an Anthropic key", "sk-ant-", r"sk-ant-(?P<secret>[A-Za-z0-9_-]{20,})"),
    _shape("an OpenAI key", "sk-proj-", r"sk-proj-(?P<secret>[A-Za-z0-9_-]{40,})"),
    _shape("a GitHub token", "gh", r"(?<![A-Za-z0-9])gh[pousr]_(?P<secret>[A-Za-z0-9]{36,})"),
    _shape("a GitHub token", "github_pat_", r"github_pat_(?P<secret>[A-Za-z0-9_]{50,})"),
    _shape("a GitLab token", "glpat-", r"glpat-(?P<secret>[A-Za-z0-9_-]{20,})"),
    _shape("a Slack token", "xox", r"xox[abprs]-(?P<secret>[0-9]{8,}-[A-Za-z0-9-]{16,})"),
    _shape("a Stripe secret key", "k_live_", r"[sr]k_live_(?P<secret>[A-Za-z0-9]{20,})"),
    _shape("a SendGrid key", "SG.", r"(?<![A-Za-z0-9])SG\.(?P<secret>[A-Za-z0-9_-]{22}\.[A-Za-z0-9_-]{43})"),
    _shape("an npm token", "npm_", r"(?<![A-Za-z0-9_])npm_(?P<secret>[A-Za-z0-9]{36})(?![A-Za-z0-9])"),
)  # fmt: skip


def secret_by_name(path: str) -> str | None:
    """Say why a file of this name must not be public; None if it may."""
    found = _NAMES.fullmatch(PurePosixPath(path).name)
    return None if found is None or found.lastgroup is None else _NAME_KINDS[found.lastgroup]


def secret_inside(beginning: bytes) -> str | None:
    """Say what kind of secret is in the beginning of a text; None if none was found."""
    if b"\0" in beginning[:_BINARY_SIGN_WITHIN]:
        return None
    for shape in _SHAPES:
        if shape.mark in beginning and any(_is_real(m["secret"]) for m in shape.pattern.finditer(beginning)):
            return f"it has {shape.kind} in it"
    return None


def _is_real(secret: bytes) -> bool:
    lowered = secret.lower()
    return len(set(lowered)) >= _DIFFERENT_BYTES_MIN and not any(word in lowered for word in _MADE_UP)


WELL_KNOWN = ".well-known"
REFUSALS_MAX = 20  # told; the first one is enough to refuse
LEFT_OUT_MAX = 100  # told
_CHUNK_BYTES = 1_000_000
# Control characters; line and paragraph separators; and those that make a name read backwards.
_UNFIT = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff\\\\]")


@dataclass(frozen=True, slots=True)
class GateLimits:
    """How much a site may be. All are settings."""

    files_max: int = 20_000  # folders count too
    bytes_max: int = 1_000_000_000
    depth_max: int = 30  # folders in folders
    path_bytes_max: int = 900  # a cloud store's names end at 1024


@dataclass(frozen=True, slots=True)
class Passed:
    """What may be published, and what was left out of it."""

    release: Release
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Nothing of it may be published, because of these files."""

    refusals: tuple[Refusal, ...]


class _Enough(Exception):
    """There are more refusals than anybody reads, or more files than we go through."""


@dataclass(slots=True)
class _Walk:
    """What was seen so far."""

    limits: GateLimits
    files: list[ReleasedFile] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    refusals: list[Refusal] = field(default_factory=list)
    links: Counter[tuple[int, int]] = field(default_factory=Counter)  # (device, inode) -> names seen in here
    linked: dict[tuple[int, int], tuple[str, int]] = field(default_factory=dict)  # -> one name, names in all
    entries: int = 0
    bytes: int = 0

    def refuse(self, path: str, reason: str, *, secret: bool = False) -> None:
        self.refusals.append(Refusal(_shown(path), reason, secret))
        if len(self.refusals) >= REFUSALS_MAX:
            raise _Enough

    def leave_out(self, path: str) -> None:
        if len(self.left_out) < LEFT_OUT_MAX:
            self.left_out.append(_shown(path))


def manifest(
    folder: Path, *, inside: Path | None = None, limits: GateLimits | None = None
) -> Passed | Refused:
    """List what would be published of a folder. Waits for the disk: call it in a thread.

    `inside` is a folder around it that is known to be good, such as the tree that was built in: no step
    from there to `folder` may be a link.
    """
    walk = _Walk(limits or GateLimits())
    try:
        top = open_folder_beneath(inside, folder) if inside else open_folder(folder)
    except (OSError, ValueError):  # ValueError: it is not even below that folder
        return Refused((Refusal(folder.name, "the folder to publish is not there, or it is a link"),))
    with contextlib.suppress(_Enough):
        try:
            _look_through(walk, top, prefix="", depth=0)
        finally:
            os.close(top)
        _refuse_links_to_the_outside(walk)
        if not walk.files and not walk.refusals:
            walk.refuse("", "no file is left in it that could be published")
    if walk.refusals:
        return Refused(tuple(walk.refusals))
    return Passed(Release(tuple(sorted(walk.files, key=lambda file: file.path))), tuple(walk.left_out))


def _look_through(walk: _Walk, folder: int, prefix: str, depth: int) -> None:
    with os.scandir(folder) as entries:
        for entry in entries:
            path = prefix + entry.name
            walk.entries += 1
            if walk.entries > walk.limits.files_max:
                walk.refuse("", f"there are more than {walk.limits.files_max} files and folders")
                raise _Enough
            if entry.name.startswith(".") and path != WELL_KNOWN:
                walk.leave_out(path)
            elif reason := _unfit(path, walk.limits):
                walk.refuse(path, reason)
            else:
                _look_at(walk, folder, entry.name, path, depth)


def _look_at(walk: _Walk, folder: int, name: str, path: str, depth: int) -> None:
    try:
        mode = os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode
        if stat.S_ISREG(mode):
            _take(walk, open_plain_file(name, folder), path)
        elif not stat.S_ISDIR(mode):
            walk.refuse(path, _what_else(mode))
        elif depth >= walk.limits.depth_max:
            walk.refuse(path, f"it is more than {walk.limits.depth_max} folders deep")
        else:
            inner = open_folder(name, folder)
            try:
                _look_through(walk, inner, f"{path}/", depth + 1)
            finally:
                os.close(inner)
    except OSError:
        walk.refuse(path, "it can't be read, or it was changed while it was read")


def _take(walk: _Walk, handle: int, path: str) -> None:
    """Take an open file into the release. Whatever happens to its name now, these are its bytes."""
    with os.fdopen(handle, "rb") as file:
        about = os.fstat(handle)
        walk.bytes += about.st_size
        if walk.bytes > walk.limits.bytes_max:
            walk.refuse("", f"the files are more than {walk.limits.bytes_max / 1e6:.0f} MB together")
            raise _Enough
        if about.st_nlink > 1:
            identity = (about.st_dev, about.st_ino)
            walk.links[identity] += 1
            walk.linked[identity] = (path, about.st_nlink)
        beginning = file.read(SCANNED_BYTES)
        digest, size = hashlib.sha256(beginning), len(beginning)
        while size <= about.st_size and (chunk := file.read(_CHUNK_BYTES)):
            digest.update(chunk)
            size += len(chunk)
    if size != about.st_size:
        walk.refuse(path, "it was changed while it was read")
    elif reason := secret_by_name(path) or secret_inside(beginning):
        walk.refuse(path, f"{reason}; what is published can be read by everybody", secret=True)
    else:
        walk.files.append(ReleasedFile(path, size, digest.hexdigest()))


def _refuse_links_to_the_outside(walk: _Walk) -> None:
    """A file that has more names than we met has one outside: it may be anybody's file."""
    for identity, (path, names) in walk.linked.items():
        if walk.links[identity] < names:
            walk.refuse(path, "it is a hard link to a file outside the site")


def _unfit(path: str, limits: GateLimits) -> str | None:
    try:
        length = len(path.encode())
    except UnicodeEncodeError:
        return "its name is not UTF-8"
    if _UNFIT.search(path):
        return "its name has a control character or a backslash"
    if length > limits.path_bytes_max:
        return f"its name is longer than {limits.path_bytes_max} bytes"
    return None


def _what_else(mode: int) -> str:
    if stat.S_ISLNK(mode):
        return "it is a symbolic link; only real files are published"
    return "it is a pipe, a socket or a device; only real files are published"


def _shown(path: str) -> str:
    """A path as people can read it, whatever is in it."""
    printable = path.encode(errors="backslashreplace").decode()
    return "".join(letter if letter.isprintable() else ascii(letter)[1:-1] for letter in printable)[:300]
