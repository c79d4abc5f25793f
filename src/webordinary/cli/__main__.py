"""Lets `python -m webordinary.cli` stand for `webordinary`."""

import sys

from webordinary.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
