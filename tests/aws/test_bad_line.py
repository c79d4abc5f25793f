"""Real workers on a line that delays, drops, fails and throttles: nothing lost, reordered or done twice."""

import os
from dataclasses import replace
from pathlib import Path

from tests.aws.campaign import LANES, all_done, check, submit_all, worker_processes
from tests.aws.fault_proxy import FaultProxy
from tests.aws.worker_process import LIMITS
from webordinary.backends.aws.open import open_aws
from webordinary.backends.aws.settings import AwsSettings
from webordinary.ports.backend import Backend
from webordinary.system.clock import SystemClock

SEED, RATE = 20261, 0.08
JOBS_EACH = int(os.environ.get("WEBORDINARY_BAD_LINE_JOBS", "10"))  # in each of 20 lanes


async def test_jobs_over_20_lanes_on_a_bad_line(usual: AwsSettings, quiet: Backend, tmp_path: Path) -> None:
    """Three real processes that share nothing but the cloud."""
    log = tmp_path / "log"
    async with FaultProxy(usual.endpoint or "", SEED, RATE).listening() as line:
        bad = replace(usual, endpoint=line.endpoint)
        sender = open_aws(bad, SystemClock(), LIMITS)
        async with worker_processes(bad, log, names=["w0", "w1", "w2"]):
            submitted = await submit_all(sender, JOBS_EACH)
            await all_done(quiet, JOBS_EACH * len(LANES))
        sender.close()
        again = await check(quiet, submitted, log)
        assert len(line.faults) == len(line.kinds)  # each kind was met
        print(f"\n{JOBS_EACH * len(LANES)} jobs in three processes, {again} begun again; {line.summary()}")
