"""The Authentication-Results header of a server before us (RFC 8601), read strictly.

Only the topmost one is looked at: servers write on top, so all others may be the sender's own. Some write one
for each kind of check; those stand right below each other and are read as one, too. The server before us puts
parts of the stranger's mail into it, such as the MAIL FROM address; a parenthesis there opens a comment in a
reader that is generous. So a comment stands between spaces or it is none, and whatever is odd makes the whole
header say nothing.

Ways of large providers: Microsoft 365 writes no authserv-id, and at times the recipient's domain between the
results; Yahoo and Zoho write `dmarc=pass(p=none)`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import dropwhile

from webordinary.mail.checks.dmarc import organization
from webordinary.mail.checks.headers import Field, Message, plain_address, plain_domain
from webordinary.ports.mail_checks import Signature, Spf, Upstream

NAME = "authentication-results"
HEADER_CHARACTERS_MAX = 8192
HEADERS_MAX = 8
RESULTS_MAX = 30

_COMMENT = r"\((?:[^()\\]|\((?:[^()\\]|\([^()\\]*\))*\))*\)"  # comments in comments, three deep
_TOKENS = re.compile(rf'[ \t]+|(?<![^ \t;]){_COMMENT}(?=[ \t;]|$)|[^ \t;()"\\]+|"[^"\\]*"|;')
_PAIR = re.compile(r'([a-z][a-z0-9._-]*)=(?:"([^"]*)"|([^"]*))', re.ASCII | re.IGNORECASE)
_SERVER = re.compile(r"([a-z0-9](?:[a-z0-9._-]*[a-z0-9])?)(?: 1)?", re.ASCII | re.IGNORECASE)

_GLUED = re.compile(r"((?:^|;)[ \t]*dmarc=[a-z]+)(?=\()", re.ASCII | re.IGNORECASE)
_WITHOUT_SERVER = re.compile(r"(?:spf|dkim|dmarc|arc)=", re.ASCII | re.IGNORECASE)

_ANY, _HOST, _BASE64 = r".*", r"[a-z0-9._:\[\]-]*[a-z0-9\]]", r"[a-z0-9+/=]*"
_KNOWN = {  # a pass with another property, or an odd value, may be the sender's own words: it says nothing
    "spf": {
        "smtp.mailfrom": _ANY,
        "smtp.helo": _HOST,
        "smtp.client-ip": _HOST,
        "smtp.remote-ip": _HOST,
        "arc_overridden_status": r"[a-z_]+",
    },
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
    found = message.named(NAME)
    return _meaning(*read) if found and (read := _read(found[0])) else None


def read_upstream_run(message: Message) -> Upstream | None:
    """Read the topmost one and those of the same server right below it, as one; None if one is odd."""
    run: list[_Read] = []
    for field in dropwhile(lambda field: field.key != NAME, message.fields):
        read = _read(field) if field.key == NAME and len(run) < HEADERS_MAX else None
        if read is None and field.key == NAME:
            return None
        if read is None or (run and read[0] != run[0][0]):
            break
        run.append(read)
    return _meaning(run[0][0], [result for _, results in run for result in results]) if run else None


Result = tuple[str, str, dict[str, str]]  # method, result, properties
_Read = tuple[str, list[Result]]  # the server, "" if it is not named


def _read(field: Field) -> _Read | None:
    """Read one header; None if it is odd."""
    if field.has_blank_line or not field.unfolded.isascii() or len(field.unfolded) > HEADER_CHARACTERS_MAX:
        return None
    text = field.unfolded.decode("ascii")
    parts = _parts(_GLUED.sub(r"\1 ", text))
    if not parts or len(parts) > RESULTS_MAX:
        return None
    server = _SERVER.fullmatch(parts[0])
    if server is not None and text.startswith(server[1]):
        name, parts = server[1].lower(), parts[1:]
    elif _WITHOUT_SERVER.match(text):
        name, parts = "", [part for part in parts if not plain_domain(part)]
    else:
        return None
    results = list(_results(parts))
    return None if None in results else (name, [result for result in results if result is not None])


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
    if not domain:
        return Spf()
    mailbox = mail_from.lower() if plain_address(mail_from) else ""
    return Spf(result, domain, organization(domain), mailbox=mailbox)


def _signature(result: str, named: dict[str, str]) -> Signature:
    domain = plain_domain(named["header.d"]) if "header.d" in named else _domain(named.get("header.i", ""))
    problem = "" if result == "pass" else f"the server before us says {result}"
    return Signature(domain, organization(domain) if domain else "", problem)


def _domain(text: str) -> str:
    """Read a domain, alone or after the @ of an address."""
    address = plain_address(text if not text.startswith("@") else f"x{text}")
    return address.domain if address else plain_domain(text)
