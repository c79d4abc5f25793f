"""How much code one mail, one job and one interrupt pass, as docs/architecture.md says."""

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_the_map_says_how_many_files_a_mail_a_job_and_an_interrupt_pass() -> None:
    """A page that says forty when it is a hundred sends readers the wrong way."""
    page = (ROOT / "docs" / "architecture.md").read_text()
    said = dict(re.findall(r"^\| (one \w+) \| (\d+) \| \d+ \|$", page, re.MULTILINE))
    printed = subprocess.run(
        [sys.executable, "-m", "tests.walk"], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout
    found = dict(re.findall(r"^\| (one \w+) \| (\d+) \| \d+ \|$", printed, re.MULTILINE))
    assert said.keys() == found.keys() == {"one mail", "one job", "one interrupt"}
    # A beat or a sweep that happens to fall into a walk passes a file or two more.
    assert all(int(found[name]) <= int(said[name]) + 2 for name in found), printed
