"""The one place that picks the backend."""

from __future__ import annotations

from webordinary.adapters.system_clock import SystemClock
from webordinary.backends.sqlite.open import open_sqlite
from webordinary.ports.backend import Backend
from webordinary.ports.clock import Clock
from webordinary.wiring.settings import Settings


def open_backend(settings: Settings, clock: Clock | None = None) -> Backend:
    """Open the store of a home folder, creating it if need be."""
    return open_sqlite(settings.home, clock or SystemClock(), settings.limits)
