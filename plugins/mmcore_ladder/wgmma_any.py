"""The launch rule of wgmma_any.cu: any size and layout, each operand as it lies or packed so that TMA takes it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore import Config, DeviceProperties, Kernel, Launch, Problem, Scalar, Space, TensorMap, Workspace, ceil_div
from mmcore.kernel.arguments import Argument
from mmcore_ladder.shares import following, parts_of_k

LaunchRule = Callable[[Problem, Config, DeviceProperties], list[Launch]]

_BOX_ROWS, _BOX_BYTES = 64, 8192
_ALIGNMENT = 16
"""Bytes, of rows that TMA takes."""
_MOST_BLOCKS = 65535
"""Along y."""
_MOST_SHARED_BYTES = 227 << 10
"""Of a block, from compute capability 9.0 on."""
_PACKED_BYTES = 4096
"""Of a row, that a block packs at once."""
_MOST_STAGES = 8
_TUNED = ("BM", "BN", "DEPTH_BYTES", "CLUSTER", "GROUP")
_DIRECTLY, _BY_COPIES, _TOGETHER = range(3)
_CPP = {"bfloat16": "__nv_bfloat16", "float16": "__half", "tf32": "float", "float32": "float"}
_CPP["float8_e4m3fn"] = "__nv_fp8_e4m3"
_FORMS = {"bfloat16": "k16.f32.bf16.bf16", "float16": "k16.f32.f16.f16", "tf32": "k8.f32.tf32.tf32"}
_FORMS["float8_e4m3fn"] = "k32.f32.e4m3.e4m3"
BYTES = {"bfloat16": 2, "float16": 2, "tf32": 4, "float8_e4m3fn": 1}


@dataclass(frozen=True)
class Operand:
    """A or B on its way to the tensor cores: a matrix whose tiles have `extent` rows of sums each.

    Attributes:
        matrix: "A", "B" or a workspace.
        extent: of the operand across k: m or n.
        k: extent along k.
        leading: elements from one stored row to the next.
        columns: whether it is stored by columns along k, k rows of `extent` elements.
        parts: matrices whose sum it is, one behind the other.
        dtype: of the elements.
        further: what the source's product takes of it besides its map.
    """

    matrix: str
    extent: int
    k: int
    leading: int
    columns: bool
    parts: int
    dtype: str
    further: tuple[Argument, ...] = ()

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns as stored."""
        return (self.k, self.extent) if self.columns else (self.extent, self.k)

    def map(self, across: int, along: int) -> TensorMap:
        """The tensor map for tiles of `across`×`along` elements; by columns in boxes of 64."""
        rows, columns = self.shape
        box = (1, along, 64) if self.columns else (1, across, along)
        swizzle = 128 if self.columns else along * BYTES[self.dtype]
        strides = (rows * self.leading, self.leading, 1)
        return TensorMap(self.matrix, box, swizzle, (self.parts, rows, columns), strides, self.dtype)


def by_columns(problem: Problem, matrix: str) -> bool:
    """Whether A or B is stored by columns along k."""
    return (matrix in problem.column_major) == (matrix == "A")


def padded(columns: int, dtype: str) -> int:
    """Elements from one row to the next so that each begins at a multiple of 16 bytes."""
    each = _ALIGNMENT // BYTES[dtype]
    return each * ceil_div(columns, each)


def as_they_lie(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """The launches that multiply A and B of the problem's own type, which lie as TMA takes them or are packed first."""
    launches, operands = [], []
    right = "A" if _transposed(problem, config) else "B"
    for matrix, extent in (("A", problem.m), ("B", problem.n)):
        columns = by_columns(problem, matrix)
        operand = Operand(matrix, extent, problem.k, problem.leading(matrix), columns, 1, problem.dtype)
        # wgmma takes columns along k of 16-bit elements only, and they come in boxes of 64.
        turned = columns and (BYTES[problem.dtype] != 2 or (matrix == right and config.BN % 64 > 0))
        if turned or operand.leading * BYTES[problem.dtype] % _ALIGNMENT:
            launch, operand = _packed(operand, turned)
            launches.append(launch)
        operands.append(operand)
    return following([*launches, *products(problem, config, device, operands)], device)


def _packed(operand: Operand, turned: bool) -> tuple[Launch, Operand]:
    """The launch that copies an operand, or its transpose, so that TMA takes it, and the copy."""
    rows, width = operand.shape
    lines, length = (width, rows) if turned else (rows, width)
    leading = padded(length, operand.dtype)
    copy = Workspace(f"packed {operand.matrix}", lines * leading * BYTES[operand.dtype])
    if turned:
        grid = ceil_div(width, 32), min(ceil_div(rows, 32), _MOST_BLOCKS)
        sizes = (Scalar(rows), Scalar(width), *wide(operand.leading, leading))
        launch = Launch(grid, (32, 8), entry="transpose", arguments=(operand.matrix, copy, *sizes))
    else:
        each = BYTES[operand.dtype]
        grid = max(1, width * each // _PACKED_BYTES), min(rows, _MOST_BLOCKS)
        sizes = (Scalar(rows), *wide(width * each, operand.leading * each, leading * each))
        launch = Launch(grid, (256,), entry="pack", arguments=(operand.matrix, copy, *sizes))
    return launch, replace(operand, matrix=copy.name, leading=leading, columns=operand.columns and not turned)


def products(
    problem: Problem,
    config: Config,
    device: DeviceProperties,
    operands: Sequence[Operand],
    doubts: Sequence[Argument] = (),
) -> Iterator[Launch]:
    """The product of two operands that TMA takes, unless there are doubts about their parts."""
    m, n = problem.m, problem.n
    down, across = problem.strides("C")
    first, second = operands
    if _transposed(problem, config):
        first, second, m, n, down, across = second, first, n, m, across, down
    itemsize = 4 if problem.output == "float32" else 2
    depth = config.DEPTH_BYTES // BYTES[first.dtype]
    tiles = ceil_div(m, config.BM) * ceil_div(n, config.BN)
    splits = parts_of_k(tiles, ceil_div(problem.k, depth), device)
    aligned = across == 1 and down * itemsize % _ALIGNMENT == 0
    where = _TOGETHER if splits > 1 else _BY_COPIES if aligned and config.BN % 64 == 0 else _DIRECTLY
    sharing = 1 if splits > 1 else config.CLUSTER
    size = splits * sharing
    clusters = min(ceil_div(m, config.BM * sharing) * ceil_div(n, config.BN), device.multiprocessors // size)
    maps = [first.map(config.BM, depth), second.map(config.BN // sharing, depth)]
    boxes = TensorMap("C", (_BOX_ROWS, 128 // itemsize), 128) if where == _BY_COPIES else maps[0]
    yield Launch(
        (clusters * size,),
        config.block,
        shared_bytes=_shared_bytes(config, first.parts, where),
        cluster=(size,) if size > 1 else None,
        entry=f"product<{int(first.columns)}, {int(second.columns)}, {where}>",
        arguments=(
            *maps,
            boxes,
            "C",
            *map(Scalar, (m, n, problem.k, splits)),
            *wide(down, across),
            *first.further,
            *second.further,
            *doubts,
        ),
    )


def _transposed(problem: Problem, config: Config) -> bool:
    """Whether Cᵀ = Bᵀ·Aᵀ is computed, since its tiles hang over the edges by less."""

    def area(m: int, n: int) -> int:
        return int(ceil_div(m, config.BM) * config.BM * ceil_div(n, config.BN) * config.BN)

    return area(problem.n, problem.m) < area(problem.m, problem.n)


def wide(*numbers: int) -> list[Scalar]:
    """Arguments of 64 bits."""
    return [Scalar(number, "int64") for number in numbers]


def wgmma_any(name: str, title: str, launch: LaunchRule, configs: Space, **declared: Any) -> Kernel:
    """A kernel of wgmma_any.cu."""
    return Kernel(
        name=name,
        title=title,
        source="wgmma_any.cu",  # type: ignore[arg-type]
        launch=launch,
        # The launches have arguments of their own; leading dimensions are among what they are made of.
        arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc"),
        configs=configs,
        architecture="90a",
        min_compute_capability=(9, 0),
        **declared,
    )


def defines(dtype: str, output: str, *, parts: int = 1, promoted: bool = False) -> dict[str, str]:
    """The macros of wgmma_any.cu besides the config's, for elements of ``dtype``."""
    majors = {"WGMMA_MAJORS": ""} if BYTES[dtype] == 2 else {}
    return {
        "ELEMENT": _CPP[dtype],
        "BITS": {1: "unsigned char", 2: "unsigned short", 4: "unsigned"}[BYTES[dtype]],
        "OUTPUT": _CPP[output],
        "WGMMA_FORM": f'"{_FORMS[dtype]}"',
        "PARTS": str(parts),
        "PROMOTED": str(int(promoted)),
        "SCALED": str(int(parts == 2)),
        **majors,
    }


def space(parts: int, *default: tuple[int, ...], promoted: bool = False) -> Space:
    """The configs of wgmma_any.cu for operands of so many parts; by default (BM, BN, DEPTH_BYTES, CLUSTER, GROUP)."""

    def stages(config: Config) -> int:
        """As many as a multiprocessor has room for."""
        return min(_MOST_STAGES, (_MOST_SHARED_BYTES - _box_bytes(config)) // _stage_bytes(config, parts))

    def fits(config: Config) -> bool:
        sums = config.BN // 2 * (config.BM // (64 * config.CONSUMERS) + promoted)
        return bool(config.STAGES >= 2 and config.BM % (64 * config.CONSUMERS) == 0 and sums <= 192)

    return Space(
        {
            "BM": (64, 128, 256),
            # Few rows of C are columns of Cᵀ. A stage of several parts is large.
            "BN": (32, 64, 128, 192, 256) if parts == 1 else (64, 128, 192, 256),
            "DEPTH_BYTES": (128,) if parts == 1 else (64, 128),
            "CONSUMERS": (1, 2),
            "CLUSTER": (1, 2),
            "GROUP": (8, 16),
            "STAGES": stages,
            "block": lambda config: (128 * (1 + config.CONSUMERS),),
        },
        where=fits,
        default=[
            {**dict(zip(_TUNED, values, strict=True)), "CONSUMERS": min(2, values[0] // 64)} for values in default
        ],
    )


def _shared_bytes(config: Config, parts: int, where: int) -> int:
    """Of a block: the stages and boxes of C, or the stages alone, whose place the tile's sums take."""
    sums = 4 * config.BM * (config.BN + 8) if where == _TOGETHER else 0
    return max(sums, int(config.STAGES * _stage_bytes(config, parts)) + (where != _TOGETHER) * _box_bytes(config))


def _stage_bytes(config: Config, parts: int) -> int:
    """Of a stage, with its barriers."""
    return int(parts * (config.BM + config.BN) * config.DEPTH_BYTES + 16)


def _box_bytes(config: Config) -> int:
    """Of two boxes of C for each consumer."""
    return int(config.CONSUMERS * 2 * _BOX_BYTES)
