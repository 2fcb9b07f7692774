"""The outcomes of a condition for many launches at once, without running them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from mmcore_emulator.conditions.expressions import (
    Argument,
    Computed,
    Condition,
    Expression,
    Inverse,
    OneOf,
    Special,
    leaves,
)
from mmcore_emulator.machine.limits import Dim3
from mmcore_emulator.numerics.types import NUMPY, Flags, Values
from mmcore_emulator.ptx.types import Constant, float_value

_MOST_CORNERS = 64  # combinations of threads and paths that are looked at in each launch
_MOST_THREADS = 1 << 31


@dataclass(frozen=True)
class LaunchValues:
    """The values that a launch gives to its function."""

    grid: Dim3
    block: Dim3
    parameters: Mapping[str, bytes]  # by name


class UnknownValue(Exception):
    """A value that is not known before the launch runs."""


def outcomes(condition: Condition, launches: Sequence[LaunchValues]) -> tuple[Flags, Flags]:
    """Return for each launch whether the condition may be true for some thread, and whether it may be false.

    It looks at the threads and blocks at the ends of each axis, and at the numbers in the condition.

    Raises:
        UnknownValue: an operand cannot be computed.
    """
    with np.errstate(all="ignore"):
        values = _Evaluation(condition.outcome, launches).values
    corners = tuple(range(1, values.ndim))
    shape = (len(launches),)
    return (np.broadcast_to(values.any(corners), shape), np.broadcast_to(~values.all(corners), shape))


class _Evaluation:
    """The values of an expression, as an array [launch, choice of the first axis, choice of the second, …]."""

    def __init__(self, expression: Expression, launches: Sequence[LaunchValues]) -> None:
        self._launches = launches
        self._known: dict[int, Values] = {}
        self._constants = sorted({leaf.bits for leaf in leaves(expression) if isinstance(leaf, Constant)})
        self._axes: dict[int | str, int] = {}
        self._free: dict[str, Values] = {}
        self._find_axes(expression)
        self.values = self._value(expression)

    def _find_axes(self, expression: Expression) -> None:
        """Give an axis to each special register that varies in a launch, and to each choice, while they are few."""
        corners, seen, rest = 1, set[int](), [expression]
        while rest:
            node = rest.pop()
            if id(node) in seen:
                continue
            seen.add(id(node))
            key: int | str = id(node)
            count = 1
            match node:
                case Special(name):
                    key, count = name, 1 if name in self._axes else len(self._corners(name))
                case OneOf(options):
                    count = len(options)
                    rest += options
                case Computed(_, operands):
                    rest += operands
                case Inverse(operand):
                    rest.append(operand)
            if count > 1 and corners * count <= _MOST_CORNERS:
                corners *= count
                self._axes[key] = len(self._axes) + 1

    def _value(self, node: Expression) -> Values:
        if id(node) not in self._known:
            self._known[id(node)] = self._computed(node)
        return self._known[id(node)]

    def _computed(self, node: Expression) -> Values:
        match node:
            case Argument():
                return self._along(self._argument(node))
            case Special(name):
                corners = self._corners(name)
                if name not in self._axes:
                    return self._along(corners[0])
                stacked = np.stack(np.broadcast_arrays(*corners), axis=1)
                return self._along(stacked, self._axes[name])
            case Constant():
                return np.asarray(node.bits)
            case Inverse(operand):
                return ~self._value(operand)
            case OneOf(options, kind):
                return self._one_of(node, options, kind)
            case Computed(operation, operands, kind):
                sources = (
                    self._as(self._value(operand), operand, source)
                    for operand, source in zip(operands, operation.sources, strict=True)
                )
                result = np.asarray(operation.compute(*sources))
                return _converted(result, kind)

    def _one_of(self, node: OneOf, options: tuple[Expression, ...], kind: str) -> Values:
        values = [self._as(self._value(option), option, kind) for option in options]
        axis = self._axes.get(id(node))
        if axis is None:
            return values[0]
        if any(value.ndim > axis and value.shape[axis] > 1 for value in values):
            raise UnknownValue
        dimensions = len(self._axes) + 1
        full = [value.reshape(value.shape + (1,) * (dimensions - value.ndim)) for value in values]
        shape = np.broadcast_shapes(*(value.shape for value in full))
        return np.concatenate([np.broadcast_to(value, shape) for value in full], axis=axis)

    def _argument(self, argument: Argument) -> Values:
        dtype, offset = NUMPY[argument.type], argument.offset
        end = offset + dtype.itemsize
        parts = [launch.parameters[argument.name][offset:end] for launch in self._launches]
        if any(len(part) < dtype.itemsize for part in parts):
            raise UnknownValue
        return np.frombuffer(b"".join(parts), dtype)

    def _corners(self, name: str) -> list[Values]:
        """Return the values of a special register at the ends of its range, and the constants inside it."""
        register, _, axis = name.removeprefix("%").partition(".")
        if register in ("tid", "ctaid"):
            of = "block" if register == "tid" else "grid"
            last = self._extents(of, axis) - 1
            inner = [number for number in self._constants if 0 < number < _MOST_THREADS][:4]
            ends = [np.zeros_like(last), last, *(np.minimum(last, number) for number in inner)]
            return [end.astype(np.uint32) for end in ends]
        if register in ("ntid", "nctaid"):
            return [self._extents("block" if register == "ntid" else "grid", axis).astype(np.uint32)]
        if register in ("laneid", "warpid"):
            x, y, z = (self._extents("block", each) for each in "xyz")
            threads = x * y * z
            last = np.asarray(np.minimum(threads, 32) - 1 if register == "laneid" else (threads - 1) // 32)
            return [np.zeros(len(last), np.uint32), last.astype(np.uint32)]
        if name == "WARP_SZ":
            return [np.array([32], np.uint32)]
        raise UnknownValue

    def _extents(self, of: str, axis: str) -> Values:
        return np.array([getattr(getattr(launch, of), axis) for launch in self._launches], np.int64)

    def _along(self, values: Values, axis: int | None = None) -> Values:
        """Return values [launch] or [launch, choice] with an axis for every choice; these are along ``axis``."""
        shape = [len(values)] + [1] * len(self._axes)
        if axis is not None:
            shape[axis] = values.shape[1]
        return values.reshape(shape)

    def _as(self, values: Values, node: Expression, kind: str) -> Values:
        """Return values as an operand of a PTX type."""
        if not isinstance(node, Constant):
            return _converted(values, kind)
        dtype = NUMPY[kind]
        if dtype.kind == "b":
            return np.asarray(bool(node.bits))
        if node.type != "int":
            return np.asarray(float_value(node), dtype)
        return np.asarray(node.bits & ((1 << 8 * dtype.itemsize) - 1), f"u{dtype.itemsize}").view(dtype)


def _converted(values: Values, kind: str) -> Values:
    """Return the bits of values as another PTX type, extended by their own sign or cut."""
    want = NUMPY[kind]
    if values.dtype == want:
        return values
    if "b" in (values.dtype.kind, want.kind) or "c" in (values.dtype.kind, want.kind):
        raise UnknownValue
    if values.dtype.itemsize == want.itemsize:
        return np.ascontiguousarray(values).view(want)
    if values.dtype.kind in "iu" and want.kind in "iu":
        return values.astype(f"{values.dtype.kind}{want.itemsize}").view(want)
    raise UnknownValue
