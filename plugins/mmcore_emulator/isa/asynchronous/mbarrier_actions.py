"""The instructions of mbarrier objects, on shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from mmcore_emulator.isa.asynchronous import mbarriers
from mmcore_emulator.isa.asynchronous.mbarriers import MbarrierKind, contents
from mmcore_emulator.isa.entries import CLUSTER_SPACE, Effect, Entry, Execute, Family, Opcode, OperandSpec
from mmcore_emulator.machine.asynchronous.events import BLOCK_BYTES, ArrivalSent, Arrived, Made, Passed
from mmcore_emulator.machine.lanes import Mask
from mmcore_emulator.machine.machine import Execution, Machine
from mmcore_emulator.machine.observer import LaneViolation, always
from mmcore_emulator.numerics.types import Flags, Values

_OBJECT = np.dtype(np.uint64)
_ONE = np.ones((1,) * 6, np.uint32)
REFILL = (
    "a wait until the buffer is empty before that line: the thread fills it again, and the phase that it has begun has "
    "not ended"
)
"""The hint for a thread that fills a buffer again without a wait."""
REFILL_AFTER_WAIT = (
    "another parity in the wait before that line, or arrivals for the empty buffer after its data have come: the wait "
    "ends before the phase that the thread has begun"
)
"""The hint for a thread that fills a buffer again after a wait that ends too early."""
_ONE_ISSUER = (
    "one thread alone that expects the bytes (elect.sync or an if around it and its copies): {} threads expect them, "
    "and the mbarrier counts one arrival"
)
_SPACES = {"cta": "shared", "cluster": "cluster", "generic": "generic"}


def _mbarrier(opcode: Opcode) -> Execute | None:
    """Return the semantics of ``mbarrier`` or ``cp.async.mbarrier.arrive``; None for another instruction."""
    kind = mbarriers.parse(opcode)
    if kind is None:
        return None
    address, number = OperandSpec("address"), OperandSpec("source", "u32")
    state = OperandSpec("result", "b64")
    match kind.action:
        case "init":
            return Execute(partial(_init, kind), (address, number))
        case "expect_tx" | "complete_tx":
            return Execute(partial(change, kind), (address, number))
        case "inval":
            return Execute(partial(change, kind), (address,))
        case "arrive" | "arrive_drop":
            return Execute(partial(change, kind), (state, address, number), required=2)
        case "test_wait" | "try_wait":
            phase = OperandSpec("source", "u32" if kind.parity else "b64")
            return Execute(partial(_wait, kind), (OperandSpec("result", "pred"), address, phase, number), required=3)
        case "pending_count":
            return Execute(
                lambda execution, state: [mbarriers.pending_count(state[0])],
                (OperandSpec("result", "u32"), OperandSpec("source", "b64")),
            )
        case "copies_arrive":
            return Execute(partial(_copies_arrive, kind), (address,))
    return None


def _init(kind: MbarrierKind, execution: Execution, address: list[Values], number: list[Values]) -> None:
    """Initialise objects."""
    execution = execution.in_cluster(address[0])
    machine, mask, at = execution
    space, nothing = _SPACES[kind.space], np.zeros(number[0].shape, _OBJECT)
    _report_misuse(kind, execution, address[0], machine.memory.peek(space, address[0], _OBJECT, mask), number[0])
    _report_lanes(execution, mbarriers.AGAIN, _again(execution, address[0]))
    machine.mbarriers.initialised_at |= dict.fromkeys(_offsets(execution, address[0]), at)
    machine.memory.store(space, address[0], [mbarriers.init(nothing, number[0])], _OBJECT, mask, at)
    if machine.observers:
        machine.observers.event(Made(machine.memory.places(address[0]), mask))
        machine.mbarriers.forget_phases(np.unique(_places(machine, address[0], mask)).tolist())


def _offsets(execution: Execution, address: Values) -> set[int]:
    """Return the offsets in shared memory of the objects that lanes access."""
    places = np.broadcast_to(address, execution.machine.batch.shape)[execution.machine.batch.spread(execution.mask)]
    return {place & (BLOCK_BYTES - 1) for place in np.unique(places).tolist()}


def _places(machine: Machine, address: Values, mask: Mask | None) -> Values:
    """Return the place in the batch of the object of each lane."""
    return np.broadcast_to(machine.memory.places(address), machine.batch.shape)[machine.batch.spread(mask)]


def _lanes(machine: Machine, mask: Mask | None) -> list[int]:
    """Return the numbers of the lanes in the batch."""
    return np.flatnonzero(machine.batch.spread(mask)).tolist()


def change(kind: MbarrierKind, execution: Execution, address: list[Values], *number: list[Values]) -> Sequence[Values]:
    """Change objects; return their previous words."""
    execution = execution.in_cluster(address[0])
    machine, mask, at = execution
    operand = number[0][0] if number else _ONE
    of = mbarriers.combine(kind)
    assert of is not None
    if kind.semantics == "release":
        machine.observers.fence(_fenced(kind), mask)
    operands = [] if kind.action == "inval" else [operand]
    before = machine.memory.atomic(_SPACES[kind.space], address[0], operands, _OBJECT, of, mask, at)
    _report_misuse(kind, execution, address[0], before, operand)
    if kind.tx:
        lanes = _lanes(machine, mask)
        machine.mbarriers.began |= set(zip(_places(machine, address[0], mask).tolist(), lanes, strict=True))
        machine.mbarriers.waited.difference_update(lanes)
    if machine.observers and (kind.tx or kind.action == "expect_tx"):
        nbytes = np.broadcast_to(operand, machine.batch.shape)[machine.batch.spread(mask)]
        machine.mbarriers.expect(_places(machine, address[0], mask).tolist(), nbytes.tolist(), at)
    if machine.observers and kind.action in ("arrive", "arrive_drop"):
        machine.mbarriers.arrived |= _offsets(execution, address[0])
        ended = contents(of(before, *operands)).parity != contents(before).parity
        lanes = _lanes(machine, mask)
        machine.mbarriers.arrive(_places(machine, address[0], mask).tolist(), lanes)
        ending = machine.batch.narrow(mask, ended)
        places = _places(machine, address[0], ending).tolist()
        counted = np.broadcast_to(contents(before).expected, machine.batch.shape)[machine.batch.spread(ending)]
        machine.mbarriers.end_phases(places, counted.tolist())
        for place in places:
            machine.mbarriers.end_bytes(place)
        relaxed = _fenced(kind) if kind.semantics == "relaxed" else ""
        sent = ArrivalSent(machine.memory.places(address[0]), mask, at, relaxed)
        machine.observers.event(sent)
        machine.observers.event(Arrived(sent, contents(before).parity))
    return [before]


def _report_misuse(kind: MbarrierKind, execution: Execution, address: Values, words: Values, operand: Values) -> None:
    """Report misuse of the objects that lanes access."""
    machine, mask, _ = execution
    for problem in mbarriers.problems(kind, words, operand):
        lanes = machine.batch.spread(machine.batch.narrow(mask, problem.lanes))
        hint = ""
        if problem.clause == mbarriers.TOO_MANY:
            hint = _refill(machine, address, lanes) or _repeated(kind, execution, address, words)
        _report_lanes(execution, problem.clause, lanes, hint)


def _repeated(kind: MbarrierKind, execution: Execution, address: Values, words: Values) -> str:
    """Return the hint for several threads that expect bytes of an object together that counts one arrival, and log it.

    It is empty for other arrivals, and for objects that count more.
    """
    machine, mask, _ = execution
    places, number = np.unique(_places(machine, address, mask), return_counts=True)
    counted = np.broadcast_to(contents(words).expected, machine.batch.shape)[machine.batch.spread(mask)]
    if not kind.tx or number.min() == 1 or (counted != 1).any():
        return ""
    machine.mbarriers.repeated.update((places % BLOCK_BYTES).tolist())
    return _ONE_ISSUER.format(int(number.max()))


def _refill(machine: Machine, address: Values, lanes: Flags) -> str:
    """Return the hint for lanes that all expect bytes of an object again; empty if one has not expected any before."""
    numbers = np.flatnonzero(lanes).tolist()
    places = np.broadcast_to(machine.memory.places(address), machine.batch.shape)[lanes].tolist()
    if not machine.mbarriers.began.issuperset(zip(places, numbers, strict=True)):
        return ""
    return REFILL if machine.mbarriers.waited.isdisjoint(numbers) else REFILL_AFTER_WAIT


def _report_lanes(execution: Execution, clause: str, lanes: Flags, hint: str = "") -> None:
    machine, _, at = execution
    if lanes.any():
        text = f"uses an mbarrier wrongly: {clause}, for {at.mnemonic}"
        machine.observers.report(LaneViolation("mbarrier-misuse", "shared", at, lanes, always(text), hint=always(hint)))


def _again(execution: Execution, address: Values) -> Flags:
    """Return the lanes that access the object of another lane before them."""
    machine, mask, _ = execution
    active = np.flatnonzero(machine.batch.spread(mask))
    _, first = np.unique(machine.memory.places(address).reshape(-1)[active], return_index=True)
    again = np.zeros(machine.batch.shape, np.bool_)
    again.reshape(-1)[np.delete(active, first)] = True
    return again


def _wait(
    kind: MbarrierKind, execution: Execution, address: list[Values], phase: list[Values], *time: list[Values]
) -> Sequence[Values]:
    """Return True for lanes whose phase is over; operations on their way to the object arrive first, until it is."""
    execution = execution.in_cluster(address[0])
    machine, mask, at = execution
    over = mbarriers.completed if kind.parity else mbarriers.completed_of_state
    space = _SPACES[kind.space]

    def asking() -> Mask | None:
        return machine.batch.narrow(mask, ~over(machine.memory.peek(space, address[0], _OBJECT, mask), phase[0]))

    machine.in_flight.land_at(address[0], asking)
    words = machine.memory.atomic(space, address[0], [], _OBJECT, lambda old: old, mask, at)
    relaxed = kind.semantics == "relaxed"
    if not relaxed:
        machine.observers.fence(_fenced(kind), mask)
    _report_misuse(kind, execution, address[0], words, _ONE)
    done = over(words, phase[0])
    passed = machine.batch.narrow(mask, done)
    machine.mbarriers.passed |= _offsets(execution._replace(mask=passed), address[0])
    if machine.observers:
        waits = zip(_places(machine, address[0], passed).tolist(), _lanes(machine, passed), strict=True)
        machine.mbarriers.waited |= {lane for place, lane in waits if (place, lane) not in machine.mbarriers.began}
        awaited = None if kind.parity else contents(phase[0]).parity
        places, parity = machine.memory.places(address[0]), contents(words).parity
        machine.observers.event(Passed(places, parity, passed, at, relaxed, awaited))
        machine.mbarriers.forget_phases(np.unique(_places(machine, address[0], passed)).tolist())
    machine.mbarriers.asked[id(at)] = address[0], words
    return [done]


def _fenced(kind: MbarrierKind) -> str:
    return "gpu" if kind.scope == "cluster" else "cta"


def _copies_arrive(kind: MbarrierKind, execution: Execution, address: list[Values]) -> None:
    """Make the lanes' copies so far arrive at the object when they complete."""
    machine, mask, at = execution.in_cluster(address[0])
    space, groups = _SPACES[kind.space], machine.thread_copies.committed
    if kind.increments:
        machine.memory.atomic(space, address[0], [_ONE], _OBJECT, mbarriers.expect_arrival, mask, at)
    copies = machine.thread_copies
    copies.commit(mask)
    sent = ArrivalSent(machine.memory.places(address[0]), mask, at) if machine.observers else None
    if sent is not None:
        machine.observers.event(sent)

    def land() -> None:
        copies.land(groups + 1, mask)
        before = machine.memory.atomic(space, address[0], [_ONE], _OBJECT, mbarriers.arrive, mask, at)
        if sent is not None:
            machine.observers.event(Arrived(sent, contents(before).parity))

    machine.in_flight.send(address[0], mask, land)


def _effect(verb: str = "uses", polls: str = "", step: str = "") -> Effect:
    return Effect("mbarrier", verb, writes=True, polls=polls, step=step)


FAMILY = Family(
    "mbarrier objects",
    (
        Entry("mbarrier.init", _mbarrier, r"mbarrier\.init\..*", _effect("makes", step="init")),
        Entry("mbarrier.inval", _mbarrier, r"mbarrier\.inval\..*", _effect("gives up", step="inval")),
        Entry("mbarrier.test_wait", _mbarrier, r"mbarrier\.test_wait\..*", _effect(polls="always")),
        Entry("mbarrier.try_wait", _mbarrier, r"mbarrier\.try_wait\..*", _effect(polls="always")),
        Entry("mbarrier", _mbarrier, effect=_effect()),
        Entry(
            "cp.async.mbarrier.arrive",
            _mbarrier,
            r"cp\.async\.mbarrier\.arrive.*",
            Effect("copy", writes=True, step="arrive"),
        ),
    ),
    since=(
        ((9, 0), r"mbarrier\.(try_wait|expect_tx|complete_tx)\..*|mbarrier\..*\.expect_tx\..*"),
        CLUSTER_SPACE,
        ((8, 0), r"(cp\.async|mbarrier)\..*"),
    ),
)
