"""Keys of the test zone, made once a session by plain arithmetic: no tool has to be there."""

import base64
import importlib.util
import random
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from dkim.crypto import parse_pem_private_key  # type: ignore[import-untyped]

HAS_ED25519 = importlib.util.find_spec("nacl") is not None
SMALL_PRIMES = [n for n in range(3, 2000, 2) if all(n % d for d in range(3, int(n**0.5) + 1, 2))]


@dataclass(frozen=True)
class Key:
    """A key pair: what signs, and what is published."""

    kind: str
    private: Any
    record: str


@cache
def rsa_pem(bits: int, seed: int) -> bytes:
    chance = random.Random(seed)
    p, q = _prime(bits // 2, chance), _prime(bits - bits // 2, chance)
    n, e, d = p * q, 65537, pow(65537, -1, (p - 1) * (q - 1))
    private = _sequence(map(_integer, (0, n, e, d, p, q, d % (p - 1), d % (q - 1), pow(q, -1, p))))
    return pem("RSA PRIVATE KEY", private)


def pem(what: str, der: bytes) -> bytes:
    return f"-----BEGIN {what}-----\n".encode() + base64.encodebytes(der) + f"-----END {what}-----\n".encode()


@cache
def rsa_key(bits: int, seed: int) -> Key:
    private = parse_pem_private_key(rsa_pem(bits, seed))
    return Key("rsa", private, rsa_record(private["modulus"], private["publicExponent"]))


def rsa_record(modulus: int, exponent: int) -> str:
    public = base64.b64encode(_sequence((_integer(modulus), _integer(exponent)))).decode()
    return f"v=DKIM1; k=rsa; p={public}"


@cache
def ed25519_key(seed: int) -> Key:
    import nacl.signing  # type: ignore[import-not-found,unused-ignore]  # noqa: PLC0415 - not everybody has it

    private = nacl.signing.SigningKey(random.Random(seed).randbytes(32))
    public = base64.b64encode(bytes(private.verify_key)).decode()
    return Key("ed25519", private, f"v=DKIM1; k=ed25519; p={public}")


def _prime(bits: int, chance: random.Random) -> int:
    while True:
        candidate = chance.getrandbits(bits) | (3 << (bits - 2)) | 1
        if (
            all(candidate % small for small in SMALL_PRIMES)
            and candidate % 65537 != 1
            and _is_prime(candidate)
        ):
            return candidate


def _is_prime(n: int) -> bool:
    """Miller and Rabin, with a few fixed bases: enough for numbers that nobody chose against us."""
    odd = (n - 1) // ((n - 1) & -(n - 1))
    for base in (2, 3, 5, 7, 11, 13):
        x = pow(base, odd, n)
        exponent = odd
        while exponent != n - 1 and x not in {1, n - 1}:
            x, exponent = x * x % n, exponent * 2
        if x != n - 1 and exponent % 2 == 0:
            return False
    return True


def _integer(value: int) -> bytes:
    return _element(2, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _sequence(parts: Iterable[bytes]) -> bytes:
    return _element(0x30, b"".join(parts))


def _element(tag: int, content: bytes) -> bytes:
    size = len(content)
    if size < 128:
        return bytes([tag, size]) + content
    width = (size.bit_length() + 7) // 8
    return bytes([tag, 128 + width]) + size.to_bytes(width, "big") + content
