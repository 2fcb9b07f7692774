"""Launch rules of pranjalssh/fast.cu's kernels for Hopper: tensor maps, and tiles in the order of a Hilbert curve."""

from __future__ import annotations

import array
from collections.abc import Callable
from dataclasses import replace

from mmcore import Config, Launch, Problem, Scalar, TensorMap, Workspace, ceil_div
from mmcore.kernel.arguments import Argument
from mmcore.kernel.properties import DeviceProperties

_BLOCKS = 128  # NUM_SM: the grid of the persistent kernels
_SPACE = 128  # SPACE_LEN: the most tiles of one cluster

Rule = Callable[[Problem, Config, DeviceProperties], Launch]
Arguments = Callable[[Problem], tuple[Argument, ...]]


def hilbert(rows: int, columns: int, clusters: int) -> bytes:
    """Return the tiles of each cluster along a Hilbert curve, as ``createHilbert`` does; -1 fills the rest."""
    edge = 1 << (max(rows, columns) - 1).bit_length()
    tiles = [(x, y) for x, y in (_point(edge, at) for at in range(edge * edge)) if x < rows and y < columns]
    space = array.array("i", [-1]) * (_BLOCKS * _SPACE)
    for index, (x, y) in enumerate(tiles):
        space[index % clusters * _SPACE + index // clusters] = x << 16 | y
    return space.tobytes()


def _point(edge: int, distance: int) -> tuple[int, int]:
    """Return the point at a distance from the beginning of a Hilbert curve through a square."""
    x = y = 0
    step = 1
    while step < edge:
        right = 1 & (distance // 2)
        up = 1 & (distance ^ right)
        if not up:
            if right:
                x, y = step - 1 - x, step - 1 - y
            x, y = y, x
        x, y = x + step * right, y + step * up
        distance //= 4
        step *= 2
    return x, y


def _plain(bm: int, bn: int, *, pointer: bool) -> tuple[TensorMap, TensorMap]:
    """Return maps of A and B with two axes, in boxes of 64 columns, in device memory or by value."""
    a, b = (TensorMap(name, box=(rows, 64), swizzle=128, pointer=pointer) for name, rows in (("A", bm), ("B", bn)))
    return a, b


_INPUTS = TensorMap("A", box=(1, 128, 64), swizzle=128), TensorMap("B", box=(1, 256, 64), swizzle=128)


def _five_axes(problem: Problem) -> tuple[Argument, ...]:
    """Return the maps of A and B in pieces of rows, with two more axes of length 1."""
    maps = [
        TensorMap(
            each.matrix,
            box=(1, 1, *each.box),
            swizzle=128,
            extents=(1, 1, problem.k // 64, rows, 64),
            strides=(problem.k * rows, problem.k * rows, 64, problem.k, 1),
        )
        for each, rows in zip(_INPUTS, (problem.m, problem.n), strict=True)
    ]
    return ("C", *maps)


def _stored(rows: int, wide: int, *, curve: bool) -> Arguments:
    """Return the arguments of kernels that store C by TMA, in boxes of ``rows`` rows and ``wide`` columns."""

    def arguments(problem: Problem) -> tuple[Argument, ...]:
        c = TensorMap("C", box=(rows // 64, 256, wide))
        if wide != 64:
            c = replace(c, extents=(problem.m // 64, problem.n, 64), strides=(64, problem.m, 1))
        if not curve:
            return (c, *_INPUTS)
        tiles = hilbert(ceil_div(problem.m, 256), ceil_div(problem.n, 256), _BLOCKS // 2)
        return (c, *_INPUTS, Workspace("order", content=tiles))

    return arguments


def _tiled(bm: int, bn: int, threads: int, shared: int, *further: Scalar) -> Rule:
    """Return the rule of kernels that compute a tile in each block, with tensor maps in device memory."""

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        arguments: tuple[Argument, ...] = ("m", "n", "k", "C", *_plain(bm, bn, pointer=True), *further)
        return Launch((problem.m // bm * (problem.n // bn),), (threads,), shared, arguments=arguments)

    return rule


def _persistent(shared: int, last: Arguments) -> Rule:
    """Return the rule of kernels whose blocks compute several tiles each; ``last`` makes the arguments after k."""

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch((_BLOCKS,), (384,), shared, arguments=("m", "n", "k", *last(problem)))

    return rule


RULES: dict[str, Rule] = {
    "tile 64×64": _tiled(64, 64, 128, 0),
    "tile 128×128": _tiled(128, 128, 128, 32768, Scalar(0, "uint64")),
    "producer and consumer": _tiled(128, 128, 256, 163840),
    "two consumers": _tiled(128, 256, 384, 147456),
    "persistent": _persistent(147456, lambda problem: ("C", *_plain(128, 256, pointer=False))),
    "five axes": _persistent(147456, _five_axes),
    "split": _persistent(147456, lambda problem: ("C", *_INPUTS)),
    "stored": _persistent(213120, _stored(128, 64, curve=False)),
    "Hilbert curve": _persistent(213632, _stored(128, 64, curve=True)),
    "Hilbert curve, padded": _persistent(221824, _stored(64, 72, curve=True)),
}
"""Launch rules by the name that kernels.toml has for them."""
