"""Reasons in the arithmetic: doubles in a product of floats, divisions, idle tensor cores."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from mmcore_emulator.profiler.counters import total
from mmcore_performance.costs import Costs, costs, instructions
from mmcore_performance.observation import Observation, ObservedLaunch
from mmcore_performance.reasons.reason import Reason

_TENSOR_TYPES = ("float16", "bfloat16", "tf32")
_REPLACED = 3  # instructions in place of a division: an addition, a comparison, a selection
_FEWER = 0.9  # the part of the multiply-adds' instructions that tensor cores save


def find(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reasons."""
    yield from _doubles(observation, launch)
    yield from _divisions(observation, launch)
    yield from _without_tensor_cores(observation, launch)


def _doubles(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the line of a product of floats with the most arithmetic in double."""
    problem, card = observation.problem, observation.card
    if "float64" in (problem.dtype, problem.output, observation.kernel.accumulator):
        return
    names = ("fp64", "convert64")
    lines = {
        line: {name: mix[name] for name in names if name in mix}
        for line, mix in launch.mix.items()
        if any(name in mix for name in names)
    }
    if not lines:
        return
    line = max(lines, key=lambda each: sum(lines[each].values()))
    saved = sum((instructions(mix, card) for mix in lines.values()), Costs())
    counts = lines[line]
    what = " and ".join(
        words
        for words in (
            "multiplies and adds in double" if "fp64" in counts else "",
            "converts between float and double" if "convert64" in counts else "",
        )
        if words
    )
    advice = "write float literals (1.0f) and float variables; in Numba, numpy.float32(0) in place of 0."
    yield Reason("double", f"the {problem.dtype} product {what}", advice, line, 0, saved)


def _divisions(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield each line with divisions and remainders of integers."""
    for line, mix in launch.mix.items():
        divisions = {name: count for name, count in mix.items() if name.startswith("divide")}
        fmas = launch.lines[line].fmas / 32 if line in launch.lines else 0
        if divisions:
            count, wide = sum(divisions.values()), "divide64" in divisions
            each = f"{count / fmas:.2g} for a multiply-add" if fmas else f"{count:,} by warps"
            yield Reason(
                "division",
                f"integers are divided by a variable here ({each}), {70 if wide else 20} instructions each or so",
                "compute quotients and remainders before the loop, or divide by a constant",
                line,
                0,
                instructions(divisions, observation.card)
                - instructions({"other": _REPLACED * count}, observation.card),
            )


def _without_tensor_cores(observation: Observation, launch: ObservedLaunch) -> Iterable[Reason]:
    """Yield the reason of a type that tensor cores multiply, if they do not."""
    counters = total(launch.lines.values())
    small = observation.small
    multiplies = counters.flops >= small.m * small.n * small.k / len(observation.launches)
    if observation.problem.dtype not in _TENSOR_TYPES or counters.tensor_instructions or not multiplies:
        return
    line = max(launch.lines, key=lambda each: (launch.lines[each].fmas, launch.lines[each].flops))
    cost = costs(launch, observation.card)
    yield Reason(
        "no tensor cores",
        f"{observation.problem.dtype} elements are multiplied by ordinary instructions, and the tensor cores are idle",
        "multiply tiles by wmma (mma.h), or by mma.sync and ldmatrix",
        line,
        0,
        replace(cost, double=0.0, tensor=0.0, barrier=0.0) * _FEWER,
    )
