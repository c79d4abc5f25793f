"""Lets `python -m webordinary` stand for `webordinary`."""

import sys

from webordinary.entrypoints.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
