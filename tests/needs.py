"""Tools of the system that some tests need."""

import os
import shutil

import pytest


def needs(tool: str, why: str = "") -> None:
    """Skip without the tool; with CI=true fail."""
    if shutil.which(tool) is not None:
        return
    reason = f"{tool} is not installed" + (f": {why}" if why else "")
    if os.environ.get("CI") == "true":
        pytest.fail(reason)
    pytest.skip(reason)
