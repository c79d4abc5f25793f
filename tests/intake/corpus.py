"""The mails in tests/corpus, each with what has to be understood of it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, field
from pathlib import Path

CORPUS = Path(__file__).resolve().parents[1] / "corpus"
NAMES = sorted(path.stem for path in CORPUS.glob("*.eml"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a mail's .toml file says. `files` are as they came; `ready` are the pictures made anew."""

    why: str
    from_: str = ""
    subject: str = ""
    stretches: list[dict[str, str]] = field(default_factory=list)  # each one is a kind and its text
    files: list[str] = field(default_factory=list)  # "our name, kind, its own name"
    skipped: list[str] = field(default_factory=list)  # "its own name: reason"
    ready: list[str] = field(default_factory=list)  # "our name, kind, size", or as skipped
    automatic: str = ""
    unreadable: str = ""
    reply_to: str = ""


def raw(name: str) -> bytes:
    return (CORPUS / f"{name}.eml").read_bytes()


def expected(name: str) -> Expected:
    table = tomllib.loads((CORPUS / f"{name}.toml").read_text())
    return Expected(**{"from_" if key == "from" else key: value for key, value in table.items()})
