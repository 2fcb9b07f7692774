"""The sides of a kernel's comparisons that each of many products reaches, and few products that reach them all."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from mmcore.devices.loaded_kernel import bound_number, laid_out
from mmcore.kernel.arguments import SIZES, Argument, Scalar, Struct, TensorMap, Workspace
from mmcore.planning.plan import Plan
from mmcore_emulator.conditions.expressions import Argument as Parameter
from mmcore_emulator.conditions.expressions import Condition, Special, conditions, leaves
from mmcore_emulator.conditions.outcomes import LaunchValues, UnknownValue, outcomes
from mmcore_emulator.machine.limits import Dim3
from mmcore_emulator.numerics.types import Flags
from mmcore_emulator.ptx.instructions import Function
from mmcore_emulator.ptx.types import Constant

_MOST_RARE = {2: 48, 3: 16}  # sides whose pairs, and triples, are reached together
_POINTER = (1 << 40).to_bytes(8, "little")


class ReachedSides:
    """The sides of comparisons that each of many products reaches."""

    def __init__(
        self,
        comparisons: Sequence[tuple[int, Condition]],
        plans: Sequence[Plan],
        costs: Sequence[float],
        functions: Sequence[Function],  # of each launch
    ) -> None:
        self._costs = np.array(costs)
        values = [_launch_values(planned, functions) for planned in plans]
        columns: dict[bytes, tuple[Flags, str]] = {}
        for number, condition in comparisons:
            with contextlib.suppress(UnknownValue):
                names = parameter_names(plans[0], number, functions[number])
                for reached in outcomes(condition, [each[number] for each in values]):
                    if reached.any():
                        columns.setdefault(reached.tobytes(), (reached, _described(condition, names)))
        self._reached = np.stack([reached for reached, _ in columns.values()], axis=1) if columns else None
        self._reasons = [reason for _, reason in columns.values()]

    def groups(self) -> list[int]:
        """Return a number for each product, which those that reach the same sides share."""
        if self._reached is None:
            return [0] * len(self._costs)
        numbers: dict[bytes, int] = {}
        return [numbers.setdefault(row.tobytes(), len(numbers)) for row in self._reached]

    def is_new(self, index: int, chosen: Sequence[int]) -> bool:
        """Return whether a product reaches another set of sides than each chosen one."""
        if self._reached is None:
            return False
        return not (self._reached[[*chosen]] == self._reached[index]).all(axis=1).any()

    def cover(self, chosen: list[int], together: int) -> Iterator[tuple[int, str]]:
        """Yield the cheapest products that reach sides, ``together`` at once, that no chosen product does.

        They are added to ``chosen``. Of pairs and triples, those of the rarest sides count.
        """
        if self._reached is None:
            return
        rare = np.argsort(self._reached.sum(axis=0), kind="stable")[: _MOST_RARE.get(together)]
        several = np.array(list(itertools.combinations(rare, together)), np.intp).reshape(-1, together)
        reached = np.asarray(self._reached[:, several].all(axis=2))
        missing = np.asarray(reached.any(axis=0) & ~reached[chosen].any(axis=0))
        while missing.any():
            gains = (reached & missing).sum(axis=1)
            index = int(np.argmax(gains / self._costs))
            first = several[np.argmax(reached[index] & missing)]
            yield index, joined(self._reasons[item] for item in first)
            chosen.append(index)
            missing &= ~reached[index]


def is_on_sizes(condition: Condition) -> bool:
    """Return whether a comparison depends on nothing but arguments and constants."""
    return not any(isinstance(leaf, Special) for leaf in leaves(condition.outcome))


def conditions_on_sizes(functions: Sequence[Function]) -> list[tuple[int, Condition]]:
    """Return the comparisons of launches' functions that depend on nothing but arguments and constants."""
    several = ((number, each) for number, function in enumerate(functions) for each in conditions(function))
    return [(number, each) for number, each in several if is_on_sizes(each)]


def take_same_sides(
    comparisons: Sequence[tuple[int, Condition]], functions: Sequence[Function], one: Plan, other: Plan
) -> bool:
    """Return whether two products with the same functions take the same sides of comparisons."""
    values = [_launch_values(planned, functions) for planned in (one, other)]
    for number, condition in comparisons:
        with contextlib.suppress(UnknownValue):
            if any(reached[0] != reached[1] for reached in outcomes(condition, [each[number] for each in values])):
                return False
    return True


def joined(reasons: Iterable[str]) -> str:
    """Return reasons in one clause: those that compare the same value in one line are one, with all numbers."""
    numbers: dict[str, dict[str, None]] = {}
    for reason in reasons:
        compared, _, number = reason.partition(" with ")
        numbers.setdefault(compared, {})[number] = None
    clauses = ((compared, " and ".join(filter(None, several))) for compared, several in numbers.items())
    return " and ".join(" with ".join(filter(None, clause)) for clause in clauses)


def parameter_names(planned: Plan, number: int, function: Function) -> dict[str, str]:
    """Return the sizes that a launch passes by value, by the PTX name of the parameter."""
    arguments = planned.arguments(planned.launches[number])
    sizes = (each.value if isinstance(each, Scalar) else each for each in arguments)
    return {each.name: size for each, size in zip(function.parameters, sizes, strict=False) if size in SIZES}


def _described(condition: Condition, names: Mapping[str, str]) -> str:
    """Return what a condition compares, with its line: "line 31 compares k with 1024"."""
    compared = {}
    for leaf in leaves(condition.outcome):
        match leaf:
            case Parameter(name) if name in names:
                compared[names[name]] = 0
            case Special(name) if "ctaid" in name:
                compared["the grid" if "nctaid" in name else "the block's index"] = 1
    limit = next((each for each in condition.at.operands[1:3] if isinstance(each, Constant)), None)
    of = ", ".join(sorted(compared, key=lambda name: (compared[name], name))) or "its arguments"
    number = "" if limit is None or limit.type != "int" else f" with {limit.bits - (limit.bits >> 63 << 64)}"
    return f"line {condition.at.line} compares {of}{number}"


def _launch_values(planned: Plan, functions: Sequence[Function]) -> list[LaunchValues]:
    """Return the values that each launch of a plan gives to its function."""
    made = []
    for launch, function in zip(planned.launches, functions, strict=True):
        parameters = function.parameters
        contents = [_content(argument, planned) for argument in planned.arguments(launch)]
        by_name = {
            parameter.name: content.ljust(parameter.nbytes, b"\0")
            for parameter, content in itertools.zip_longest(parameters, contents, fillvalue=b"")
            if not isinstance(parameter, bytes)
        }
        made.append(LaunchValues(Dim3(*launch.grid_dim), Dim3(*launch.block_dim), by_name))
    return made


def _content(argument: Argument, planned: Plan) -> bytes:
    """Return the bytes of an argument; pointers are aligned, and tensor maps are empty."""
    match argument:
        case TensorMap():
            return _POINTER if argument.pointer else bytes(128)
        case Workspace() | ("A" | "B" | "C"):
            return _POINTER
        case bytes():
            return argument
        case Struct(members):
            return laid_out([_content(member, planned) for member in members])
        case _:
            return bound_number(argument, planned).tobytes()
