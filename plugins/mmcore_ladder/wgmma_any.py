"""The launch rule of wgmma_any.cu for any size and layout; an operand that TMA cannot read is packed first."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mmcore import (
    Config,
    DeviceProperties,
    Kernel,
    Launch,
    Problem,
    Scalar,
    Space,
    TensorMap,
    Tiling,
    Workspace,
    ceil_div,
)
from mmcore.kernel.arguments import Argument
from mmcore_ladder.shares import following, parts_of_k

LaunchRule = Callable[[Problem, Config, DeviceProperties], list[Launch]]

_BOX_ROWS, _BOX_BYTES = 64, 8192
_ALIGNMENT = 16
"""Bytes to which TMA requires rows to be aligned."""
_MOST_BLOCKS = 65535
"""Largest extent of a grid along y."""
_MOST_SHARED_BYTES = 227 << 10
"""Largest shared memory of a block on compute capability 9.0 and later."""
_RESERVED_BYTES = 1 << 10
"""Shared memory of a multiprocessor that each of its blocks takes besides its own."""
_PACKED_BYTES = 4096
"""Bytes of a row that a block packs at once."""
_MOST_STAGES = 8
_NARROW = 64
"""Largest BN with which warps store C themselves: sooner than TMA, if there is only one box or two."""
_FEW_SUMS = 64
"""Most sums of a thread with which two blocks' registers fit on a multiprocessor."""
_TUNED = ("BM", "BN", "DEPTH_BYTES", "CLUSTER", "GROUP")
_DIRECTLY, _BY_COPIES, _TOGETHER = range(3)
_CPP = {"bfloat16": "__nv_bfloat16", "float16": "__half", "tf32": "float", "float32": "float"}
_CPP["float8_e4m3fn"] = "__nv_fp8_e4m3"
_FORMS = {"bfloat16": "k16.f32.bf16.bf16", "float16": "k16.f32.f16.f16", "tf32": "k8.f32.tf32.tf32"}
_FORMS["float8_e4m3fn"] = "k32.f32.e4m3.e4m3"
BYTES = {"bfloat16": 2, "float16": 2, "tf32": 4, "float8_e4m3fn": 1}


@dataclass(frozen=True)
class Operand:
    """A, B or a packed copy, as the tensor cores read it.

    Attributes:
        matrix: "A", "B" or the name of a workspace.
        extent: the extent across k: m or n.
        k: the extent along k.
        leading: the elements from one stored row to the next.
        columns: whether it is stored by columns along k, as k rows of `extent` elements.
        parts: the number of matrices that add up to it, stored one after another.
        dtype: the type of the elements.
        further: the kernel's arguments for it besides its tensor map.
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
        """The rows and columns as stored."""
        return (self.k, self.extent) if self.columns else (self.extent, self.k)

    def map(self, across: int, along: int) -> TensorMap:
        """Return the tensor map for tiles of `across`×`along` elements; storage by columns uses boxes of 64."""
        rows, columns = self.shape
        box = (1, along, 64) if self.columns else (1, across, along)
        swizzle = 128 if self.columns else along * BYTES[self.dtype]
        strides = (rows * self.leading, self.leading, 1)
        return TensorMap(self.matrix, box, swizzle, (self.parts, rows, columns), strides, self.dtype)


def by_columns(problem: Problem, matrix: str) -> bool:
    """Return whether A or B is stored by columns along k."""
    return (matrix in problem.column_major) == (matrix == "A")


def padded(columns: int, dtype: str) -> int:
    """Return the smallest leading dimension with which every row begins at a multiple of 16 bytes."""
    each = _ALIGNMENT // BYTES[dtype]
    return each * ceil_div(columns, each)


def multiply_in_own_type(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return the launches that multiply A and B in the problem's type, packing operands that TMA cannot read."""
    launches, operands = [], []
    right = "A" if _transposed(problem, config) else "B"
    for matrix, extent in (("A", problem.m), ("B", problem.n)):
        columns = by_columns(problem, matrix)
        operand = Operand(matrix, extent, problem.k, problem.leading(matrix), columns, 1, problem.dtype)
        # wgmma reads columns along k only if the elements have 16 bits, and TMA fetches them in boxes of 64.
        turned = columns and (BYTES[problem.dtype] != 2 or (matrix == right and config.BN % 64 > 0))
        if turned or operand.leading * BYTES[problem.dtype] % _ALIGNMENT:
            launch, operand = _packed(operand, turned)
            launches.append(launch)
        operands.append(operand)
    return following([*launches, *products(problem, config, device, operands)], device)


def _packed(operand: Operand, turned: bool) -> tuple[Launch, Operand]:
    """Return the launch that copies an operand, or its transpose, to a layout that TMA reads, and the copy."""
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
    """Yield the launch of the product of two operands that TMA reads; `doubts` are its arguments about their parts."""
    m, n = problem.m, problem.n
    down, across = problem.strides("C")
    first, second = operands
    if _transposed(problem, config):
        first, second, m, n, down, across = second, first, n, m, across, down
    itemsize = 4 if problem.output == "float32" else 2
    depth = config.DEPTH_BYTES // BYTES[first.dtype]
    splits = _splits(m, n, problem.k, depth, config, device)
    aligned = across == 1 and down * itemsize % _ALIGNMENT == 0
    where = _TOGETHER if splits > 1 else _BY_COPIES if aligned and config.BN > _NARROW else _DIRECTLY
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


def tiling(problem: Problem, config: Config, device: DeviceProperties) -> Tiling:
    """Return the tiles of operands in the problem's type; wgmma multiplies 64 rows at a time."""
    turned, depth = _transposed(problem, config), config.DEPTH_BYTES // BYTES[problem.dtype]
    m, n = (problem.n, problem.m) if turned else (problem.m, problem.n)
    sharing = 1 if _splits(m, n, problem.k, depth, config, device) > 1 else config.CLUSTER
    reads = config.BM // 64 * (64 + config.BN)
    return Tiling(config.BM, config.BN, depth, reads, config.STAGES, sharing, turned)


def _splits(m: int, n: int, k: int, depth: int, config: Config, device: DeviceProperties) -> int:
    """Return the number of parts of k."""
    tiles = ceil_div(m, config.BM) * ceil_div(n, config.BN)
    return parts_of_k(tiles, ceil_div(k, depth), device)


def _transposed(problem: Problem, config: Config) -> bool:
    """Return whether to compute Cᵀ = Bᵀ·Aᵀ, because its tiles exceed the matrix by less."""

    def area(m: int, n: int) -> int:
        return int(ceil_div(m, config.BM) * config.BM * ceil_div(n, config.BN) * config.BN)

    return area(problem.n, problem.m) < area(problem.m, problem.n)


def wide(*numbers: int) -> list[Scalar]:
    """Return 64-bit arguments with these values."""
    return [Scalar(number, "int64") for number in numbers]


def wgmma_any(name: str, title: str, launch: LaunchRule, configs: Space, **declared: Any) -> Kernel:
    """Return a kernel of wgmma_any.cu."""
    return Kernel(
        name=name,
        title=title,
        source="wgmma_any.cu",  # type: ignore[arg-type]
        launch=launch,
        # The launches declare their own arguments, which depend on the leading dimensions.
        arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc"),
        configs=configs,
        architecture="90a",
        min_compute_capability=(9, 0),
        **declared,
    )


def defines(dtype: str, output: str, *, parts: int = 1, promoted: bool = False) -> dict[str, str]:
    """Return the macros of wgmma_any.cu besides the config's, for elements of ``dtype``."""
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
    """Return the configs of wgmma_any.cu for operands of `parts` parts.

    Each tuple in `default` is a default config's BM, BN, DEPTH_BYTES, CLUSTER and GROUP.
    """

    def stages(config: Config) -> int:
        """Return as many stages as a multiprocessor has room for."""
        room = (_MOST_SHARED_BYTES + _RESERVED_BYTES) // config.RESIDENT - _RESERVED_BYTES - _box_bytes(config)
        return int(min(_MOST_STAGES, room // _stage_bytes(config, parts)))

    def resident(config: Config) -> int:
        """Return the blocks on a multiprocessor: two small ones in clusters, of which one waits for its launch."""
        few = config.CONSUMERS == 1 and config.BM // 64 * config.BN // 2 <= _FEW_SUMS
        return 1 + int(few and config.CLUSTER > 1 and parts == 1 and not promoted)

    def fits(config: Config) -> bool:
        sums = config.BN // 2 * (config.BM // (64 * config.CONSUMERS) + promoted)
        if config.BN == 16 and (config.BM > 64 or config.CLUSTER > 1):
            return False
        return bool(config.STAGES >= 2 and config.BM % (64 * config.CONSUMERS) == 0 and sums <= 192)

    return Space(
        {
            "BM": (64, 128, 256),
            # A BN of 16 or 32 suits a C of few rows, computed as Cᵀ. Several parts make a stage large.
            "BN": (16, 32, 64, 128, 192, 256) if parts == 1 else (64, 128, 192, 256),
            "DEPTH_BYTES": (128,) if parts == 1 else (64, 128),
            "CONSUMERS": (1, 2),
            "CLUSTER": (1, 2),
            "GROUP": (8, 16),
            "RESIDENT": resident,
            "STAGES": stages,
            "block": lambda config: (128 * (1 + config.CONSUMERS),),
        },
        where=fits,
        default=[
            {**dict(zip(_TUNED, values, strict=True)), "CONSUMERS": min(2, values[0] // 64)} for values in default
        ],
    )


def _shared_bytes(config: Config, parts: int, where: int) -> int:
    """Return the shared bytes of a block: the stages and boxes of C, or stages that the tile's sums overwrite."""
    sums = 4 * config.BM * (config.BN + 8) if where == _TOGETHER else 0
    return max(sums, int(config.STAGES * _stage_bytes(config, parts)) + (where != _TOGETHER) * _box_bytes(config))


def _stage_bytes(config: Config, parts: int) -> int:
    """Return the bytes of a stage and its barriers."""
    return int(parts * (config.BM + config.BN) * config.DEPTH_BYTES + 16)


def _box_bytes(config: Config) -> int:
    """Return the bytes of two boxes of C for each consumer."""
    return int(config.CONSUMERS * 2 * _BOX_BYTES)
