"""Reasons in the compiled code: it is not optimised, registers are spilled, or come from one bank."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping

from mmcore_cuda.machine_code import bank_conflicts, machine_code, unoptimised
from mmcore_emulator.machine.limits import WARP
from mmcore_emulator.profiler.counters import Line
from mmcore_performance.costs import LOCAL_CYCLES, Costs
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.rates import ISSUE
from mmcore_performance.reasons.reason import Reason

_UNOPTIMISED = 0.2  # the time of optimised code over the time of code without optimisation, roughly
_WORD = 4
_FMA = "FFMA"


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons."""
    if observation.code.cubin and (option := unoptimised(observation.code.cubin)):
        sentence = f"the code is compiled with {option}, without optimisation, which takes several times as long"
        advice = f"compile without {option}; -lineinfo is enough for profilers"
        yield Reason("not optimised", sentence, advice, factor=_UNOPTIMISED, uncounted=True)
    yield from _spills(observation, launch)
    yield from _register_banks(observation, launch)


def spill_costs(observation: Observation, launch: ObservedLaunch) -> Costs:
    """Return the cycles of a launch's spills, which the emulator does not run."""
    return Costs(local_memory=sum(_spill_requests(observation, launch).values()) * LOCAL_CYCLES)


def _spill_requests(observation: Observation, launch: ObservedLaunch) -> dict[Line, float]:
    """Return the accesses of warps that spill or reload registers, by line, as an estimate."""
    function = launch.function
    if not (function.spill_store_bytes or function.spill_load_bytes) or not launch.executions:
        return {}
    lines = _spilled_lines(observation, launch)
    return {line: nbytes / _WORD * launch.executions.get(line, 0.0) for line, nbytes in lines.items()}


def _spills(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the line that spills most, or the busiest one if there is no disassembler."""
    function, requests = launch.function, _spill_requests(observation, launch)
    if not requests:
        return
    line = max(requests, key=lambda each: requests[each])
    yield Reason(
        "spills",
        f"{function.registers} registers are too few for a thread: {function.spill_store_bytes:,} bytes of them are "
        f"stored to local memory and {function.spill_load_bytes:,} loaded again",
        "let a thread compute fewer elements, or allow it more registers (__launch_bounds__, --maxrregcount)",
        line,
        0,
        spill_costs(observation, launch),
        uncounted=True,
    )


def _spilled_lines(observation: Observation, launch: ObservedLaunch) -> Mapping[Line, int]:
    """Return the spilled and reloaded bytes of a thread's code by line."""
    functions = machine_code(observation.code.cubin) or {}
    code = functions.get(launch.function.symbol)
    by_line = {line: stored + loaded for line, (stored, loaded) in code.spills_by_line().items()} if code else {}
    busiest = max(launch.mix, key=lambda line: sum(launch.mix[line].values()))
    function = launch.function
    return by_line or {busiest: (function.spill_store_bytes or 0) + (function.spill_load_bytes or 0)}


def _register_banks(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the line whose multiply-adds wait most for registers, in innermost loops, if there is a disassembler."""
    functions = machine_code(observation.code.cubin) or {}
    code = functions.get(launch.function.symbol)
    conflicts, multiply_adds = Counter[Line](), Counter[Line]()
    for loop in code.loops if code else ():
        conflicts.update(at.line for at in bank_conflicts(loop.instructions) if at.name == _FMA)
        multiply_adds.update(at.line for at in loop.instructions if at.name == _FMA)
    executed = {line: launch.lines[line].fmas / WARP for line in conflicts if line in launch.lines}
    waits = {line: warps * conflicts[line] / multiply_adds[line] for line, warps in executed.items()}
    if not waits:
        return
    line, cycles = max(waits, key=waits.__getitem__), sum(waits.values()) * ISSUE
    yield Reason(
        "register banks",
        f"{conflicts[line]} of {multiply_adds[line]} multiply-adds of the loop's machine code read three registers of "
        "one bank, which takes another cycle",
        "let neighbouring multiply-adds share an operand, such as by walking through a thread's tile back and forth",
        line,
        0,
        Costs(issue=cycles, fma=cycles),
        uncounted=True,
    )
