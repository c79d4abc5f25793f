"""Each fault in the smallest setup that shows it, beside the right protocol in the same setup.

A search that has not found planted bugs proves nothing. And a fault counts as found only if the right
protocol passes where it fails: so the sweep is off where it would hide the fault, and misfortune is limited
to what the right protocol survives there.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

from webordinary.simulation.model import FAULTS, Fault, Phase, Setup
from webordinary.simulation.model_search import Report, Violation, explore

_CALM = Setup(jobs=1, crashes=0, sweep=False, pauses=False, duplicates=False)
"""Nothing goes wrong, so that the right protocol needs no sweep."""
_CRASH = replace(_CALM, crashes=1, sweep=True)
_PAUSE = replace(_CALM, pauses=True, sweep=True)

SETUPS: dict[Fault, Setup] = {
    Fault.GATEKEEPER_CLAIMS: _CALM,
    Fault.ROW_ABSENCE_ONLY: _CRASH,
    Fault.CHECK_THEN_SEND: _CALM,
    Fault.NO_SECOND_LOOK: replace(_CALM, jobs=2),
    Fault.NO_SWEEP: replace(_CRASH, crash_only_in=Phase.RECEIVE),
    Fault.REQUEST_BOUNCED: replace(_CALM, jobs=2),
    Fault.REQUEST_MERGED: replace(_CALM, jobs=2, duplicates=True),
    Fault.REQUEST_CONSUMED_FIRST: replace(_CALM, crashes=1, crash_only_in=Phase.CLAIM),
    Fault.NO_FENCING: _PAUSE,
    Fault.FENCE_RESTARTS: _PAUSE,
    Fault.NOT_IDEMPOTENT: replace(_CRASH, crash_only_in=Phase.DELETE),
    Fault.MESSAGE_DELETED_FIRST: _CRASH,
    Fault.RELEASE_UNFENCED: _PAUSE,
    Fault.SWEEP_OVER_ROWS: _CRASH,
}


@dataclass(frozen=True, slots=True)
class Trial:
    """A fault, what the search saw of it, and what it saw of the right protocol in the same setup."""

    fault: Fault
    report: Report
    control: Report

    @property
    def found(self) -> Violation | None:
        return self.report.violations[0] if self.report.violations and self.control.ok else None


def check_fault(fault: Fault) -> Trial:
    setup = SETUPS[fault]
    return Trial(fault, explore(replace(setup, fault=fault)), explore(setup))


def check_all_faults() -> Iterator[Trial]:
    """One trial after the other, so that a caller can show each when it is done."""
    for fault in FAULTS:
        yield check_fault(fault)


def render_trial(trial: Trial) -> str:
    """One line of a table: the fault, what was found, where."""
    found = f"{trial.found.what} ({len(trial.found.trace)} steps)" if trial.found else "NOT FOUND"
    return f"{trial.fault:35} {found:75} {trial.report.states:>6,} states; {trial.report.setup}"
