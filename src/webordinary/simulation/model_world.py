"""Everything that can happen next: the programs' own steps, passing time, and misfortune."""

from webordinary.simulation.model import (
    REQUESTS_VISIBLE_MAX,
    Holder,
    Kind,
    Phase,
    Request,
    Setup,
    State,
    Step,
    Submitter,
)
from webordinary.simulation.model_steps import (
    WORKER_NAMES,
    back_to_pool,
    submitter_at,
    submitter_steps,
    with_request,
    worker_at,
    worker_steps,
)

PLAIN_AGAIN = {Request.SHARED: Request.PLAIN}


def steps(state: State, setup: Setup) -> list[Step]:
    """Every step possible in this state."""
    found = timeouts(state, setup)
    for index in range(len(state.submitters)):
        found += submitter_steps(state, index, setup)
        found += submitter_crash(state, index, setup)
    for index in range(len(state.workers)):
        found += worker_steps(state, index, setup)
        found += worker_misfortunes(state, index, setup)
    return found


def timeouts(state: State, setup: Setup) -> list[Step]:
    found = []
    if state.owner is Holder.DEAD and state.live:
        after = state._replace(live=False, hidden=())
        for request in state.hidden:
            after = with_request(after, request)
        found.append(Step(Kind.TIME, "time", "runs out for the lease of an owner that is gone", after))
    if state.flight is Holder.DEAD:
        after = state._replace(flight=Holder.NOBODY)
        found.append(
            Step(Kind.TIME, "time", f"makes the message of job {state.deleted + 1} visible again", after)
        )
    if state.flight is Holder.WORKER:
        found += late_receiver(state, setup)
    return found


def late_receiver(state: State, setup: Setup) -> list[Step]:
    """The message in a living worker's hands comes back: sure only where its lease has run out as well."""
    index = next(number for number, worker in enumerate(state.workers) if worker.flight)
    worker = state.workers[index]
    if worker.lease and not setup.pauses:
        return []
    after = worker_at(state._replace(flight=Holder.NOBODY), index, worker._replace(flight=False))
    kind = Kind.MISFORTUNE if worker.lease else Kind.TIME
    what = f"makes the message of job {worker.job} visible again, from under worker {WORKER_NAMES[index]}"
    return [Step(kind, "time", what, after)]


def submitter_crash(state: State, index: int, setup: Setup) -> list[Step]:
    """After the job was sent. Before that there is no job to speak of."""
    pending = state.submitters[index] in (Submitter.READ, Submitter.ASK) and index < state.sent
    if not pending or not state.crashes_left or setup.crash_only_in is not None:
        return []
    after = submitter_at(state._replace(crashes_left=state.crashes_left - 1), index, Submitter.DONE)
    return [Step(Kind.MISFORTUNE, f"submitter {index + 1}", "crashes", after)]


def worker_misfortunes(state: State, index: int, setup: Setup) -> list[Step]:
    who = f"worker {WORKER_NAMES[index]}"
    worker = state.workers[index]
    found = []
    crashes_here = setup.crash_only_in in (None, worker.phase)
    if state.crashes_left and crashes_here and worker.phase is not Phase.IDLE:
        what = "crashes and starts afresh"
        found.append(Step(Kind.MISFORTUNE, who, what, crashed(state, index, setup)))
    if setup.pauses and worker.lease:
        after = worker_at(state, index, worker._replace(lease=False))
        if worker.owns:
            after = after._replace(live=False)
        found.append(Step(Kind.MISFORTUNE, who, "is paused, and its lease runs out", after))
    if setup.duplicates and worker.request and len(state.requests) < REQUESTS_VISIBLE_MAX:
        found += second_deliveries(state, index)
    return found


def second_deliveries(state: State, index: int) -> list[Step]:
    """The queue promises at least once: a copy may turn up, or the message itself come back too early."""
    worker = state.workers[index]
    name = f"worker {WORKER_NAMES[index]}"
    found = []
    if worker.request is Request.PLAIN:
        what = f"copies the request in the hands of {name}"
        found.append(Step(Kind.MISFORTUNE, "unclaimed queue", what, with_request(state, Request.PLAIN)))
    waiting = Request.SHARED in state.requests or Request.SHARED in state.hidden
    other_shared = worker.request is Request.PLAIN and shared_deliveries(state) > 0
    if worker.request in (Request.PLAIN, Request.SHARED) and not waiting and not other_shared:
        after = worker_at(state, index, worker._replace(request=Request.SHARED))
        what = f"makes the request visible again, from under {name}"
        found.append(Step(Kind.MISFORTUNE, "unclaimed queue", what, with_request(after, Request.SHARED)))
    return found


def crashed(state: State, index: int, setup: Setup) -> State:
    worker = state.workers[index]
    after = back_to_pool(state, index)._replace(crashes_left=state.crashes_left - 1)
    if worker.request in (Request.NONE, Request.GONE):
        return after
    if worker.request is Request.SHARED and shared_deliveries(after) > 0:
        return after if shared_deliveries(after) > 1 else unshared(after)
    if setup.request_outlasts_lease and worker.owns and state.live:
        return after._replace(hidden=(*after.hidden, worker.request))
    return with_request(after, worker.request)


def shared_deliveries(state: State) -> int:
    held = [worker.request for worker in state.workers]
    return (*state.requests, *state.hidden, *held).count(Request.SHARED)


def unshared(state: State) -> State:
    """A shared request of which one delivery is left is a plain one again."""
    return state._replace(
        requests=tuple(sorted(PLAIN_AGAIN.get(one, one) for one in state.requests)),
        hidden=tuple(sorted(PLAIN_AGAIN.get(one, one) for one in state.hidden)),
        workers=tuple(
            worker._replace(request=PLAIN_AGAIN.get(worker.request, worker.request))
            for worker in state.workers
        ),
    )
