"""The protocol, one store call at a time: what submitters and workers can do next, right or wrong.

A wrong protocol is the right one with a single decision changed, so each fault is one condition below.
"""

from collections.abc import Callable

from webordinary.simulation.model import (
    REQUESTS_VISIBLE_MAX,
    Fault,
    Holder,
    Kind,
    Phase,
    Request,
    Setup,
    State,
    Step,
    Submitter,
    Worker,
)

WORKER_NAMES = "ABCDEFGH"
BOUNCED = {Request.PLAIN: Request.BOUNCED_ONCE, Request.BOUNCED_ONCE: Request.BOUNCED_TWICE}


def submitter_steps(state: State, index: int, setup: Setup) -> list[Step]:
    """Send the job, then read ownership, then ask for an owner if there is none."""
    who = f"submitter {index + 1}"
    sends_last = setup.fault is Fault.CHECK_THEN_SEND
    after_read = Submitter.SEND if sends_last else Submitter.DONE
    match state.submitters[index]:
        case Submitter.SEND if state.sent == index:
            after = state._replace(sent=index + 1)
            nxt = Submitter.DONE if sends_last else Submitter.READ
            return [Step(Kind.ARRIVAL, who, f"sends job {index + 1}", submitter_at(after, index, nxt))]
        case Submitter.READ if state.owned:
            text = "reads ownership: there is a live owner"
            return [Step(Kind.PROTOCOL, who, text, submitter_at(state, index, after_read))]
        case Submitter.READ if setup.fault is Fault.GATEKEEPER_CLAIMS:
            after = state._replace(owner=Holder.DEAD, live=True, fence=state.fence + 1)
            text = "reads ownership: no live owner, so the gatekeeper claims for nobody"
            return [Step(Kind.PROTOCOL, who, text, submitter_at(after, index, Submitter.DONE))]
        case Submitter.READ:
            text = "reads ownership: no live owner"
            return [Step(Kind.PROTOCOL, who, text, submitter_at(state, index, Submitter.ASK))]
        case Submitter.ASK:
            after = request_sent(state, setup)
            return [Step(Kind.PROTOCOL, who, "sends a claim request", submitter_at(after, index, after_read))]
        case _:
            return []


def submitter_at(state: State, index: int, phase: Submitter) -> State:
    submitters = (*state.submitters[:index], phase, *state.submitters[index + 1 :])
    return state._replace(submitters=submitters)


def request_sent(state: State, setup: Setup) -> State:
    if setup.fault is Fault.REQUEST_MERGED and (
        state.hidden or any(worker.request for worker in state.workers)
    ):
        return state
    return with_request(state, Request.PLAIN)


def with_request(state: State, request: Request) -> State:
    """One more visible request, unless there are so many that one more changes nothing."""
    if len(state.requests) == REQUESTS_VISIBLE_MAX:
        return state
    return state._replace(requests=tuple(sorted((*state.requests, request))))


def request_deleted(state: State, request: Request) -> State:
    """Deleting by one's own receipt. A message that others have received as well is gone for them too."""
    if request is not Request.SHARED:
        return state
    return state._replace(
        requests=tuple(one for one in state.requests if one is not Request.SHARED),
        hidden=tuple(one for one in state.hidden if one is not Request.SHARED),
        workers=tuple(
            worker._replace(request=Request.GONE) if worker.request is Request.SHARED else worker
            for worker in state.workers
        ),
    )


def worker_steps(state: State, index: int, setup: Setup) -> list[Step]:
    """What this worker can do next: nearly always exactly one thing."""
    return PROGRAM[state.workers[index].phase](state, index, setup)


def worker_at(state: State, index: int, worker: Worker) -> State:
    return state._replace(workers=(*state.workers[:index], worker, *state.workers[index + 1 :]))


def turn(state: State, index: int, what: str, worker: Worker, broken: str = "") -> list[Step]:
    """The usual step of a worker: it ends as `worker`, the stores as in `state`."""
    name = f"worker {WORKER_NAMES[index]}"
    return [Step(Kind.PROTOCOL, name, what, worker_at(state, index, worker), broken)]


def back_to_pool(state: State, index: int) -> State:
    """The worker forgets its claim. Stores that still name it wait for their timeouts."""
    me = state.workers[index]
    return worker_at(
        state._replace(
            owner=Holder.DEAD if me.owns else state.owner,
            flight=Holder.DEAD if me.flight else state.flight,
        ),
        index,
        Worker(),
    )


# --- a generic worker: poll the unclaimed queue, claim, sweep --------------------------------------


def idle(state: State, index: int, setup: Setup) -> list[Step]:
    me = state.workers[index]
    steps = []
    held = Phase.CONSUME if setup.fault is Fault.REQUEST_CONSUMED_FIRST else Phase.CLAIM
    for request in sorted(set(state.requests)):
        left = list(state.requests)
        left.remove(request)
        after = state._replace(requests=tuple(left))
        steps += turn(after, index, "receives a claim request", me._replace(phase=held, request=request))
    sees_lane = setup.fault is not Fault.SWEEP_OVER_ROWS or state.fence > 0
    if setup.sweeps and sees_lane and not state.drained and not state.owned:
        steps += turn(state, index, "sweeps: open jobs and no live owner", me._replace(phase=Phase.ASK))
    return steps


def consume(state: State, index: int, _setup: Setup) -> list[Step]:
    me = state.workers[index]
    after = request_deleted(state, me.request)
    return turn(
        after, index, "deletes the claim request", me._replace(phase=Phase.CLAIM, request=Request.NONE)
    )


def claim(state: State, index: int, setup: Setup) -> list[Step]:
    """One conditional write: free or expired, and then the fence grows."""
    me = state.workers[index]
    owned = state.owned
    if setup.fault is Fault.ROW_ABSENCE_ONLY:
        owned = state.owner is not Holder.NOBODY
    if owned:
        return refused(state, index, setup)
    others = tuple(worker._replace(owns=False) for worker in state.workers)
    fence = state.fence + 1
    after = state._replace(workers=others, owner=Holder.WORKER, live=True, fence=fence)
    broken = "two workers hold the lane with running leases" if any(w.lease for w in others) else ""
    then = Phase.ACKNOWLEDGE if me.request else Phase.RECEIVE
    owner = me._replace(phase=then, fence=fence, lease=True, owns=True)
    return turn(after, index, f"claims the lane with fence {fence}", owner, broken)


def refused(state: State, index: int, setup: Setup) -> list[Step]:
    me = state.workers[index]
    if setup.fault is Fault.REQUEST_BOUNCED and me.request in BOUNCED:
        after = with_request(state, BOUNCED[me.request])
        return turn(after, index, "finds the lane owned: puts the request back", Worker())
    if setup.fault is Fault.REQUEST_BOUNCED and me.request is Request.BOUNCED_TWICE:
        text = "finds the lane owned: the request goes to the dead letters"
        return turn(state, index, text, Worker(), "a claim request was dead-lettered")
    text = "finds the lane owned: refused"
    return turn(state, index, text, me._replace(phase=Phase.DROP) if me.request else Worker())


def drop(state: State, index: int, _setup: Setup) -> list[Step]:
    after = request_deleted(state, state.workers[index].request)
    return turn(after, index, "deletes the request it was refused for", Worker())


def acknowledge(state: State, index: int, _setup: Setup) -> list[Step]:
    me = state.workers[index]
    after = request_deleted(state, me.request)
    return turn(
        after, index, "deletes the claim request", me._replace(phase=Phase.RECEIVE, request=Request.NONE)
    )


def ask(state: State, index: int, setup: Setup) -> list[Step]:
    return turn(request_sent(state, setup), index, "sends a claim request", Worker())


# --- an owner: serve the lane, as far as it knows it is its own ------------------------------------


def receive(state: State, index: int, setup: Setup) -> list[Step]:
    """Any receiver gets the head: the queue knows nothing of fences."""
    me = state.workers[index]
    if not state.head:
        return turn(state, index, "receives nothing", me._replace(phase=Phase.MARK))
    then = Phase.DELETE if setup.fault is Fault.MESSAGE_DELETED_FIRST else Phase.SETTLE
    after = state._replace(flight=Holder.WORKER)
    text = f"receives job {state.head}"
    return turn(after, index, text, me._replace(phase=then, job=state.head, flight=True))


def settle(state: State, index: int, setup: Setup) -> list[Step]:
    """One conditional write: the fence must be the row's; an outcome that is there already stays."""
    me = state.workers[index]
    if me.fence != state.fence and setup.fault is not Fault.NO_FENCING:
        text = f"settles job {me.job}: refused, the claim is lost"
        return turn(back_to_pool(state, index), index, text, Worker())
    first_deletes = setup.fault is Fault.MESSAGE_DELETED_FIRST
    then = me._replace(phase=Phase.RECEIVE, job=0) if first_deletes else me._replace(phase=Phase.DELETE)
    if me.job <= state.accepted and setup.fault is not Fault.NOT_IDEMPOTENT:
        return turn(state, index, f"settles job {me.job}: it has its outcome already", then)
    after = state._replace(accepted=max(me.job, state.accepted))
    return turn(after, index, f"settles job {me.job}: accepted", then, broken_by_accepting(state, me))


def broken_by_accepting(state: State, me: Worker) -> str:
    if not me.owns:
        return f"job {me.job} was accepted from a claim that is no longer the lane's"
    if me.job <= state.accepted:
        return f"job {me.job} was accepted twice"
    if me.job > state.accepted + 1:
        return f"job {me.job} was accepted before job {state.accepted + 1}"
    return ""


def delete(state: State, index: int, setup: Setup) -> list[Step]:
    """By receipt: once the message has come back, an older receipt deletes nothing."""
    me = state.workers[index]
    first = setup.fault is Fault.MESSAGE_DELETED_FIRST
    then = me._replace(
        phase=Phase.SETTLE if first else Phase.RECEIVE, job=me.job if first else 0, flight=False
    )
    if not me.flight:
        return turn(state, index, f"deletes the message of job {me.job}: its receipt is too old", then)
    after = state._replace(deleted=state.deleted + 1, flight=Holder.NOBODY)
    return turn(after, index, f"deletes the message of job {me.job}", then)


# --- an owner with nothing to do: release ----------------------------------------------------------


def mark(state: State, index: int, _setup: Setup) -> list[Step]:
    """The mark is for people and warm workers: ownership counts until it is given up."""
    me = state.workers[index]
    if me.fence != state.fence:
        return turn(state, index, "marks the lane as releasing: refused, the claim is lost", Worker())
    return turn(state, index, "marks the lane as releasing", me._replace(phase=Phase.LOOK))


def look(state: State, index: int, _setup: Setup) -> list[Step]:
    me = state.workers[index]
    if state.head:
        return turn(
            state, index, "looks at the queue: not empty, goes on serving", me._replace(phase=Phase.RECEIVE)
        )
    return turn(state, index, "looks at the queue: nothing", me._replace(phase=Phase.GIVE_UP))


def give_up(state: State, index: int, setup: Setup) -> list[Step]:
    """One conditional write on the fence. The row and its fence stay."""
    if state.workers[index].fence != state.fence and setup.fault is not Fault.RELEASE_UNFENCED:
        return turn(state, index, "gives the lane up: refused, the claim is lost", Worker())
    fence = 0 if setup.fault is Fault.FENCE_RESTARTS else state.fence
    others = tuple(worker._replace(owns=False) for worker in state.workers)
    after = state._replace(workers=others, owner=Holder.NOBODY, live=False, fence=fence)
    then = Worker() if setup.fault is Fault.NO_SECOND_LOOK else Worker(phase=Phase.LOOK_AGAIN)
    return turn(after, index, "gives the lane up", then)


def look_again(state: State, index: int, _setup: Setup) -> list[Step]:
    if state.head:
        return turn(state, index, "looks at the queue again: not empty", Worker(phase=Phase.ASK))
    return turn(state, index, "looks at the queue again: nothing", Worker())


PROGRAM: dict[Phase, Callable[[State, int, Setup], list[Step]]] = {
    Phase.IDLE: idle,
    Phase.CONSUME: consume,
    Phase.CLAIM: claim,
    Phase.DROP: drop,
    Phase.ACKNOWLEDGE: acknowledge,
    Phase.RECEIVE: receive,
    Phase.SETTLE: settle,
    Phase.DELETE: delete,
    Phase.MARK: mark,
    Phase.LOOK: look,
    Phase.GIVE_UP: give_up,
    Phase.LOOK_AGAIN: look_again,
    Phase.ASK: ask,
}
