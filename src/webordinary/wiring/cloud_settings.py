"""Settings of the cloud: the `[cloud]` table of webordinary.toml, and WEBORDINARY_CLOUD_... variables.

Region, account and endpoint, and the names that operators already have (OWNERSHIP_TABLE_NAME and others),
are environment variables of their own: see `backends/aws/settings.py`.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from webordinary.core.errors import BadInput

PREFIX = "WEBORDINARY_CLOUD_"
PROJECT = "{project}"
KEY_CHARACTERS = 32


@dataclass(frozen=True, slots=True)
class CloudSettings:
    """Where things are in the cloud, besides tables and queues."""

    prefix: str = "webordinary"  # how the names of tables and queues begin
    mail_bucket: str = ""  # where the mail service puts raw mail
    mail_prefix: str = ""  # and under which beginning of its name
    blobs_bucket: str = ""  # mails, files of mails, agents' sessions, patches
    preview_bucket: str = "edit.{project}"
    live_bucket: str = "{project}"
    preview_address: str = "https://edit.{project}/"  # where people see the two
    live_address: str = "https://{project}/"
    state_machine_arn: str = ""  # "": no execution follows a job; it is carried out all the same
    token_key: str = field(default="", repr=False)  # signs reply addresses; one for all

    def bucket(self, name: str) -> str:
        """Give the name of a bucket that has to be set."""
        value: str = getattr(self, name)
        if not value:
            raise BadInput(
                f"the aws backend needs a bucket: set [cloud] {name}, or {PREFIX}{name.upper()}, to its name"
            )
        return value

    def signing_key(self) -> bytes:
        """Give the key that signs our addresses: whoever reads mail and whoever writes it need the same."""
        if not self.token_key:
            raise BadInput(
                f"the aws backend needs a key that signs reply addresses, the same for all: set "
                f"{PREFIX}TOKEN_KEY from your secrets; `webordinary cloud setup` makes one up"
            )
        return self.token_key.encode()


NAMES = tuple(one.name for one in fields(CloudSettings))
_PATTERNS = ("preview_bucket", "live_bucket", "preview_address", "live_address")


def read_cloud(table: Mapping[str, object], environment: Mapping[str, str] = os.environ) -> CloudSettings:
    """Read the settings; the environment goes before the file."""
    given: dict[str, object] = dict(table)
    for name in NAMES:
        text = environment.get(f"{PREFIX}{name.upper()}")
        if text is not None:
            given[name] = text
    for name, value in given.items():
        if not isinstance(value, str):
            raise BadInput(f"[cloud] {name} must be a text, not {value!r}")
    values: dict[str, Any] = given
    found = CloudSettings(**values)
    for name in _PATTERNS:
        _check_pattern(name, getattr(found, name))
    if found.token_key and len(found.token_key) < KEY_CHARACTERS:
        raise BadInput(f"[cloud] token_key must have at least {KEY_CHARACTERS} characters")
    if found.preview_bucket == found.live_bucket:
        raise BadInput("[cloud] preview_bucket and live_bucket must differ: a preview is not live yet")
    return found


def _check_pattern(name: str, value: str) -> None:
    """Each project needs a place of its own."""
    left = value.replace(PROJECT, "")
    if left == value or "{" in left or "}" in left:
        raise BadInput(f"[cloud] {name} must hold {PROJECT}, once for all projects, and no other braces")
