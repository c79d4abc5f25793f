"""Who this process is, where a container service runs it."""

from __future__ import annotations

import json
import logging
import os
import re
import urllib.request
from collections.abc import Mapping

METADATA_VARIABLE = "ECS_CONTAINER_METADATA_URL_V4"
METADATA_SECONDS = 2.0  # it is on the same machine
METADATA_BYTES = 1_000_000
NAME_CHARACTERS = 40

log = logging.getLogger("webordinary.worker")


def task_name(environment: Mapping[str, str] = os.environ) -> str | None:
    """Say as which task the container service runs us; None where there is none, or it does not say."""
    address = environment.get(METADATA_VARIABLE, "")
    if not address.startswith("http://"):
        return None
    try:
        with urllib.request.urlopen(f"{address}/task", timeout=METADATA_SECONDS) as answer:  # noqa: S310 - http, see above
            arn = json.loads(answer.read(METADATA_BYTES))["TaskARN"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        log.warning("the container service does not say who we are (%s); a name was made up", error)
        return None
    return re.sub(r"[^A-Za-z0-9-]", "", str(arn).rpartition("/")[2])[:NAME_CHARACTERS] or None
