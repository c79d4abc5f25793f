"""Text from outside, made fit for a header or for a line that people read."""

from __future__ import annotations

import re

from webordinary.core.text import one_line, shortened, storable

_UNFIT_BUT_LINE_ENDS = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_LINE_ENDS = re.compile("\r\n|[\r\v\f\x85\u2028\u2029]")
_BLANK_LINES = re.compile(r"\n\s*\n")

_TRACE = re.compile(
    r"\s*Traceback \(most recent call last\)|\s*(?:Uncaught )?[\w.]*(?:Error|Exception)\b.*:$"
)
_ERROR = re.compile(r"[\w.]*(?:Error|Exception|Interrupt|Exit)\b")
_OF_MACHINES = re.compile(
    r"^\s*(?:fatal|error|warning|hint|remote|usage|panic)(?::|\s!|\b.*:\d+)"  # git, compilers, npm
    r"|^npm ERR!|^\s*[\w.]+(?:Error|Exception): "
    r"|^\s*(?:File \".*\", line \d+|at .*[(:]\S*:\d+(?::\d+)?\)?$)"  # frames of a trace
    r"|^(?:diff --git |index [0-9a-f]{7}|@@ -|--- a/|\+\+\+ b/|commit [0-9a-f]{7,}\b|Author: |On branch )"
    r"|^\[[\w/-]+ (?:\(root-commit\) )?[0-9a-f]{7,}\]|^To \S+[:/]\S+$"
    r"|^ ?(?:! \[|[* +=-] [0-9a-f]{7}|\s+[0-9a-f]{7,}\.\.)"
    r"|^\s*(?:\d+ files? changed|create mode \d+|delete mode \d+)|^\s*[$#] \S"
    r"|\bexit(?:ed with)? (?:code|status) -?\d+|\bsignal SIG[A-Z]+|\b(?:core dumped|segmentation fault)\b"
)
_KEYED_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]*://(?:[^\s/@]+@\S+|\S*[?&#](?:[\w-]*(?:token|key|secret|password|sig(?:nature)?|auth|code)[\w-]*)=\S*)"
    r"|\bfile://\S+|\bgit@[\w.-]+:\S+",
    re.IGNORECASE,
)
_PLACE = re.compile(
    r"(?<![\w/:.~-])(?:~|/(?:home|root|tmp|var|usr|opt|etc|srv|mnt|proc|run|dev|app|data|workspaces?|work|private|Users|"
    r"Volumes|nix|builds?|github)\b)(?:/[^\s/\"'`<>()]*)*?/?([^\s/\"'`<>():,;]*)(?=[\s\"'`<>():,;]|$)"
    r"|\b[A-Za-z]:\\(?:[^\s\\]*\\)*([^\s\\]*)"
)
_SECRET = re.compile(
    r"\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|xox[abp]|AKIA|ASIA)[-_]?[A-Za-z0-9_-]{12,}|\b[0-9a-f]{32,64}\b"
    r"|\beyJ[\w-]{8,}\.[\w-]+\.[\w-]*|\bBearer \S+"
)

ELLIPSIS = "…"


def first_line(text: str, most: int) -> str:
    """The first line that says something."""
    lines = (one_line(line, most) for line in _LINE_ENDS.sub("\n", text).split("\n"))
    return next((line for line in lines if line), "")


def several_lines(text: str, *, lines: int, characters: int) -> str:
    """Keep a text's lines, without blank ones, as many as a person reads on a phone."""
    plain = _UNFIT_BUT_LINE_ENDS.sub(" ", _LINE_ENDS.sub("\n", storable(text)))
    kept = _BLANK_LINES.sub("\n", plain).strip().split("\n")
    short = "\n".join(line.rstrip() for line in kept[:lines])
    return shortened(short if len(kept) <= lines else f"{short}\n{ELLIPSIS}", characters)


def for_people(text: str, worker: str = "") -> str:
    """Leave out what only those want to see who look after the machines: traces, git's words, places on disk.

    Agents are asked to write for the owner of a site; programs that are not may run in their place.
    """
    kept: list[str] = []
    in_trace = False
    for line in _LINE_ENDS.sub("\n", text).split("\n"):
        if _TRACE.match(line):
            in_trace = True
        elif in_trace and (line.startswith((" ", "\t")) or _ERROR.match(line)):
            in_trace = line.startswith((" ", "\t"))  # the line with the error ends it
        elif not _OF_MACHINES.search(line) and not (worker and worker in line):
            in_trace = False
            kept.append(_without_places(line))
    return "\n".join(kept).strip()


def _without_places(line: str) -> str:
    line = _KEYED_ADDRESS.sub(ELLIPSIS, line)
    line = _PLACE.sub(lambda found: found[1] or found[2] or "", line)
    return _SECRET.sub(ELLIPSIS, line)
