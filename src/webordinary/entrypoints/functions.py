"""Functions that the cloud invokes.

`ingest` is the function of a receipt rule, after a rule that put the raw mail into the mail bucket. Only the
mail service may invoke it: its receipt is believed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from webordinary.wiring.cloud_mail import take_in
from webordinary.wiring.platform import open_backend
from webordinary.wiring.settings import home_folder, load


def ingest(event: Mapping[str, object], context: object) -> list[dict[str, str]]:
    """Take in what an event tells of. What fails is raised: the event comes again, and nothing is doubled."""
    del context
    settings = load(home_folder(None))
    backend = open_backend(settings)
    try:
        records = asyncio.run(take_in(event, settings, backend))
    finally:
        backend.close()
    return [{"mail": record.id, "state": record.state.value, "job": record.job or ""} for record in records]
