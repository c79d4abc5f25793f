"""`webordinary publish`: make exactly what is previewed live."""

from __future__ import annotations

import argparse

from webordinary.core.job import Intent
from webordinary.entrypoints.cli.one_word import configure_word, run_word


def configure(parser: argparse.ArgumentParser) -> None:
    """Declare the arguments."""
    configure_word(parser)


def run(args: argparse.Namespace) -> int:
    """Submit it, and wait if asked to."""
    return run_word(args, Intent.PUBLISH)
