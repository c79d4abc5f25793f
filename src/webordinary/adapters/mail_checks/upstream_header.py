"""The Authentication-Results header of a server before us (RFC 8601), read strictly.

Only the topmost one is looked at: servers write on top, so all others may be the sender's own. The server
before us puts parts of the stranger's mail into it, such as the MAIL FROM address; a parenthesis there opens
a comment in a reader that is generous. So a comment stands between spaces or it is none, and whatever is odd
makes the whole header say nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from webordinary.adapters.mail_checks.headers import Message
from webordinary.adapters.mail_checks.names import plain_address, plain_domain
from webordinary.adapters.mail_checks.suffixes import organization
from webordinary.ports.mail_checks import Signature, Spf, Upstream

HEADER_CHARACTERS_MAX = 8192
RESULTS_MAX = 30

_COMMENT = r"\((?:[^()\\]|\((?:[^()\\]|\([^()\\]*\))*\))*\)"  # comments in comments, three deep
_TOKENS = re.compile(rf'[ \t]+|(?<![^ \t;]){_COMMENT}(?=[ \t;]|$)|[^ \t;()"\\]+|"[^"\\]*"|;')
_PAIR = re.compile(r'([a-z][a-z0-9.-]*)=(?:"([^"]*)"|([^"]*))', re.ASCII | re.IGNORECASE)
_SERVER = re.compile(r"([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)(?: 1)?", re.ASCII | re.IGNORECASE)

_ANY, _HOST, _BASE64 = r".*", r"[a-z0-9._:\[\]-]*[a-z0-9\]]", r"[a-z0-9+/=]*"
_KNOWN = {  # a pass with another property, or an odd value, may be the sender's own words: it says nothing
    "spf": {"smtp.mailfrom": _ANY, "smtp.helo": _HOST, "smtp.client-ip": _HOST, "smtp.remote-ip": _HOST},
    "dkim": {
        "header.d": _ANY,
        "header.i": _ANY,
        "header.s": r"[a-z0-9_][a-z0-9._-]*",
        "header.b": _BASE64,
        "header.a": r"[a-z0-9-]+",
        "x-bits": r"[0-9]+",
    },
}


def read_upstream(message: Message) -> Upstream | None:
    """Read the topmost Authentication-Results header; None if there is none or it is odd."""
    found = message.named("authentication-results")
    if not found or found[0].has_blank_line or not found[0].unfolded.isascii():
        return None
    text = found[0].unfolded.decode("ascii")
    parts = _parts(text) if len(text) <= HEADER_CHARACTERS_MAX else None
    server = _SERVER.fullmatch(parts[0]) if parts else None
    if not parts or server is None or not text.startswith(server[1]) or len(parts) > RESULTS_MAX:
        return None
    results = list(_results(parts[1:]))
    if None in results:
        return None
    return _meaning(server[1].lower(), [result for result in results if result is not None])


Result = tuple[str, str, dict[str, str]]  # method, result, properties


def _parts(text: str) -> list[str] | None:
    """Cut at semicolons outside of comments and quotes; comments are dropped. None if anything is odd."""
    parts, at = [""], 0
    while at < len(text):
        token = _TOKENS.match(text, at)
        if token is None:
            return None
        at = token.end()
        match token[0][0]:
            case ";":
                parts.append("")
            case " " | "\t" | "(":
                parts[-1] = parts[-1].rstrip() + " "
            case _:
                parts[-1] += token[0]
    return [part.strip().replace(" =", "=").replace("= ", "=") for part in parts]


def _results(parts: list[str]) -> Iterator[Result | None]:
    """Read `method=result name=value ...` pairs; None for one that is odd."""
    for part in parts:
        if part in {"", "none"}:
            continue
        pairs = [_PAIR.fullmatch(word) for word in re.findall(r'(?:[^ "]|"[^"]*")+', part)]
        named = {pair[1].lower(): (pair[2] if pair[2] is not None else pair[3]) for pair in pairs if pair}
        if None in pairs or len(named) < len(pairs):
            yield None  # a word that is no pair, or the same name twice
            continue
        method = next(iter(named))
        result = named.pop(method).lower()
        if result != "pass" or _is_plain(method, named):
            yield method, result, named


def _is_plain(method: str, named: dict[str, str]) -> bool:
    known = _KNOWN.get(method)
    return known is None or all(
        name in known and re.fullmatch(known[name], value, re.ASCII | re.IGNORECASE)
        for name, value in named.items()
    )


def _meaning(server: str, results: list[Result]) -> Upstream | None:
    dmarc = [(result, named) for method, result, named in results if method == "dmarc"]
    spf = [(result, named) for method, result, named in results if method == "spf"]
    if len(dmarc) > 1 or len(spf) > 1:
        return None
    return Upstream(
        server,
        dmarc=dmarc[0][0] if dmarc else "",
        dmarc_domain=plain_domain(dmarc[0][1].get("header.from", "")) if dmarc else "",
        spf=_spf(spf[0][0], spf[0][1].get("smtp.mailfrom", "")) if spf else Spf(),
        signatures=tuple(_signature(result, named) for method, result, named in results if method == "dkim"),
    )


def _spf(result: str, mail_from: str) -> Spf:
    domain = _domain(mail_from)
    return Spf(result, domain, organization(domain)) if domain else Spf()


def _signature(result: str, named: dict[str, str]) -> Signature:
    domain = plain_domain(named["header.d"]) if "header.d" in named else _domain(named.get("header.i", ""))
    problem = "" if result == "pass" else f"the server before us says {result}"
    return Signature(domain, organization(domain) if domain else "", problem)


def _domain(text: str) -> str:
    """Read a domain, alone or after the @ of an address."""
    address = plain_address(text if not text.startswith("@") else f"x{text}")
    return address.domain if address else plain_domain(text)
