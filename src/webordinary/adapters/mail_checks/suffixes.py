"""Organizational domains, by the public suffix list that comes with authheaders.

Private suffixes count too: two customers of one hosting provider are two organizations.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files


def organization(domain: str) -> str:
    """Name the organizational domain: one label more than the public suffix; a suffix stands for itself."""
    labels = domain.split(".")
    return ".".join(labels[-(_suffix_length(labels) + 1) :])


def _suffix_length(labels: list[str]) -> int:
    """Count the labels of the public suffix: an exception beats all rules, then the longest rule wins."""
    rules = _rules()
    for start in range(len(labels)):
        name, parent = ".".join(labels[start:]), ".".join(labels[start + 1 :])
        if f"!{name}" in rules:
            return len(labels) - start - 1
        if name in rules or f"*.{parent}" in rules:
            return len(labels) - start
    return 1


@cache
def _rules() -> frozenset[str]:
    lines = files("authheaders").joinpath("public_suffix_list.txt").read_text("utf-8").splitlines()
    rules = (line.split()[0] for line in lines if line.strip() and not line.startswith("//"))
    return frozenset(rule if rule.isascii() else _as_ascii(rule) for rule in rules)


def _as_ascii(rule: str) -> str:
    """Write a rule as it is in the DNS."""
    return ".".join(label if label.isascii() else label.encode("idna").decode() for label in rule.split("."))
