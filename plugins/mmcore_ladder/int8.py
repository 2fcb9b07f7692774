"""The rungs on tensor cores that multiply bytes: exact products, and float64 and float32 made of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from mmcore import (
    Config,
    DeviceProperties,
    Kernel,
    Launch,
    Multiple,
    Problem,
    Scalar,
    Space,
    TensorMap,
    Workspace,
    ceil_div,
    hookimpl,
)
from mmcore.kernel.arguments import Argument
from mmcore_ladder.layouts import LAYOUTS
from mmcore_ladder.shares import SHARED_BYTES, following
from mmcore_ladder.wgmma_any import LaunchRule, by_columns, wide

_DEPTH = 128
"""Bytes of a tile along k."""
_BOX_BYTES = 64 * 128
_LINES, _PARTS = 32, 8
"""Lines that a block sums up or rounds, and the parts of k in which it sums them up."""
_LEAST_K = 64
"""The least k whose tolerance covers the rounding to integers; docs/ladder.md derives it."""
_MOST_K = (1 << 17) - 1
"""The largest k whose products of bytes have a sum of 31 bits."""
_SLICES, _LEVELS = 7, 9
"""Slices of a number, and sums of products of slices of one weight; at most 7 products have the same."""
_CONFIG = {"BM": 128, "BN": 256, "CONSUMERS": 2, "CLUSTER": 2, "GROUP": 8}
_OOTOMO = "Hiroyuki Ootomo, Katsuhisa Ozaki and Rio Yokota, DGEMM on Integer Matrix Multiplication Unit, 2024"
_OZAKI = "Katsuhisa Ozaki, Yuki Uchino and Toshiyuki Imamura, Ozaki Scheme II, 2025"


def _padded(length: int) -> int:
    return 16 * ceil_div(length, 16)


def _sizes(problem: Problem) -> list[Scalar]:
    return [Scalar(size) for size in (problem.m, problem.n, problem.k)]


def _matrices(problem: Problem) -> list[Scalar]:
    stored = [Scalar(int(by_columns(problem, matrix))) for matrix in "AB"]
    return [*_sizes(problem), *stored, *wide(problem.lda, problem.ldb)]


def _map(matrix: str, box: int, planes: int, rows: int, length: int, leading: int) -> TensorMap:
    strides = (rows * leading, leading, 1)
    return TensorMap(matrix, (1, box, _DEPTH), 128, (planes, rows, length), strides, "int8")


@dataclass(frozen=True)
class _Planes:
    """Matrices of bytes that a product is made of.

    Attributes:
        problem: the problem.
        config: the config.
        device: the device.
        count: the number of planes of A and of B.
        of_c: the number of planes of C.
        itemsize: the bytes of an element of a plane of C.
        most_k: the largest k whose sums have 31 bits.
    """

    problem: Problem
    config: Config
    device: DeviceProperties
    count: int
    of_c: int
    itemsize: int
    most_k: int

    @property
    def scales(self) -> Workspace:
        return Workspace("scales", 4 * (self.problem.m + self.problem.n))

    @property
    def sums(self) -> Workspace:
        """Return the planes of C."""
        return Workspace("planes of C", self.itemsize * self.of_c * self.problem.m * _padded(self.problem.n))

    def operand(self, matrix: str) -> Workspace:
        """Return the planes of A or B."""
        lines = self.problem.m if matrix == "A" else self.problem.n
        return Workspace(f"planes of {matrix}", self.count * lines * _padded(self.problem.k))

    @property
    def certain(self) -> tuple[Argument, ...]:
        """Return the arguments about lines that may not be rounded."""
        lines = self.problem.m + self.problem.n
        return self.scales, Scalar(lines if _LEAST_K <= self.problem.k <= self.most_k else 0)

    def multiply(self, count: int, *arguments: Argument) -> Launch:
        """Return the launch that makes so many planes of C, with the arguments after the tensor maps of A and B."""
        packed = _padded(self.problem.k)
        operands = [(self.operand(matrix).name, packed) for matrix in "AB"]
        return _products(self.problem, self.config, self.device, operands, self.count, count, arguments)


def _products(
    problem: Problem,
    config: Config,
    device: DeviceProperties,
    operands: Sequence[tuple[str, int]],
    planes: int,
    of_c: int,
    arguments: Sequence[Argument],
) -> Launch:
    """Return the launch of products of planes of A and B, which have names and leading dimensions."""
    size = config.CLUSTER
    boxes = (problem.m, config.BM), (problem.n, config.BN // size)
    maps = [
        _map(matrix, box, planes, rows, problem.k, leading)
        for (matrix, leading), (rows, box) in zip(operands, boxes, strict=True)
    ]
    tiles = ceil_div(problem.m, config.BM * size) * ceil_div(problem.n, config.BN) * of_c
    return Launch(
        (min(tiles, device.multiprocessors // size) * size,),
        config.block,
        shared_bytes=_shared_bytes(config),
        cluster=(size,) if size > 1 else None,
        entry="products",
        arguments=(*maps, *arguments),
    )


def _exact(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return the launch of a product of matrices of bytes."""
    operands = (("A", problem.lda), ("B", problem.ldb))
    return [_products(problem, config, device, operands, 1, 1, ("C", *_sizes(problem), *wide(problem.ldc)))]


def _by_slices(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return the launches of products of digits, which are added up for each power of 256."""
    planes = _Planes(problem, config, device, _SLICES, _LEVELS, 4, _MOST_K // _SLICES)
    levels = planes.multiply(_LEVELS, planes.sums, *planes.certain, *_sizes(problem), *wide(_padded(problem.n)))
    return _around(planes, "slices", [levels])


def _by_residues(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return the launches of products of residues, whose residues are stored."""
    count = config.MODULI
    planes = _Planes(problem, config, device, count, count, 1, _MOST_K)
    boxes = _map(planes.sums.name, 64, count, problem.m, problem.n, _padded(problem.n))
    return _around(planes, "residues", [planes.multiply(count, boxes, *planes.certain, *_sizes(problem))])


def _one_by_one(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    """Return the launches of products of residues, one for each modulus, whose sums of 32 bits are stored."""
    count = config.MODULI
    planes = _Planes(problem, config, device, count, count, 4, _MOST_K)
    of_all = (planes.sums, *planes.certain, *_sizes(problem))
    products = [planes.multiply(1, *of_all, Scalar(plane), *wide(_padded(problem.n))) for plane in range(count)]
    return _around(planes, "residues", products)


def _around(planes: _Planes, entry: str, products: list[Launch]) -> list[Launch]:
    """Return the launches that make planes of A and B, the products, and the launch that makes C of its planes."""
    problem = planes.problem
    m, n, lines = problem.m, problem.n, problem.m + problem.n
    packed, matrices = _padded(problem.k), _matrices(problem)
    sums, blocks = Workspace("sums of lines", 16 * _PARTS * lines), ceil_div(m, _LINES) + ceil_div(n, _LINES)
    made = ("A", "B", sums, Scalar(_PARTS), planes.scales, planes.operand("A"), planes.operand("B"))
    combined = (planes.sums, *planes.certain, "A", "B", "C", *matrices, *wide(problem.ldc, _padded(n)))
    grid_c = min(m * ceil_div(n, 512), 8 * planes.device.multiprocessors)
    launches = [
        Launch((blocks, _PARTS), (256,), entry="sums", arguments=("A", "B", sums, *matrices)),
        Launch((blocks, ceil_div(packed, _DEPTH)), (256,), entry=entry, arguments=(*made, *matrices, *wide(packed))),
        *products,
        Launch((grid_c,), (256,), entry="combine", arguments=combined),
    ]
    return following(launches, planes.device)


def _stage_bytes(config: Config) -> int:
    """Return the bytes of a stage and its barriers."""
    return int((config.BM + config.BN) * _DEPTH + 16)


def _box_bytes(config: Config) -> int:
    """Return the bytes of two boxes of residues of C for each consumer."""
    return int(config.CONSUMERS * 2 * _BOX_BYTES)


def _shared_bytes(config: Config) -> int:
    return int(config.STAGES * _stage_bytes(config)) + _box_bytes(config)


def _fits(config: Config) -> bool:
    whole = config.BM % (64 * config.CONSUMERS) == 0
    sums = config.BN // 2 * (config.BM // (64 * config.CONSUMERS))
    return bool(whole and config.STAGES >= 2 and sums <= 128)


def _space(*moduli: int) -> Space:
    """Return the configs of a kernel, with the numbers of moduli that it has, the default first."""
    return Space(
        {
            **({"MODULI": moduli} if moduli else {}),
            "BM": (64, 128, 256),
            "BN": (64, 128, 256),
            "CONSUMERS": (1, 2),
            "CLUSTER": (1, 2),
            "GROUP": (8, 16),
            "STAGES": lambda config: min(8, (SHARED_BYTES - _box_bytes(config)) // _stage_bytes(config)),
            "block": lambda config: (128 * (1 + config.CONSUMERS),),
        },
        where=_fits,
        default=[{**_CONFIG, "MODULI": moduli[0]} if moduli else _CONFIG],
    )


def _rung(name: str, title: str, source: str, launch: LaunchRule, configs: Space, **declared: Any) -> Kernel:
    return Kernel(
        name=f"ladder.{name}",
        title=title,
        source=source,  # type: ignore[arg-type]
        configs=configs,
        arguments=("A", "B", "C", "m", "n", "k", "lda", "ldb", "ldc"),
        launch=launch,
        architecture="90a",
        min_compute_capability=(9, 0),
        **declared,
    )


def _residues(
    name: str, title: str, dtype: str, moduli: tuple[int, ...], layout: str, *, unfused: bool = False
) -> Kernel:
    """Return a rung with residues for one layout; "_tn", for example, stores A by columns."""
    return _rung(
        name + layout,
        title,
        "residues_any.cu",
        _one_by_one if unfused else _by_residues,
        _space(*moduli),
        reference=_OZAKI,
        dtype=dtype,
        unit="int8",
        column_major=LAYOUTS[layout],
        variant_of=f"ladder.{name}" if layout else "",
        defines={"NUMBER": {"float64": "double", "float32": "float"}[dtype], "SUMS_IN_MEMORY": str(int(unfused))},
        options=("--device-int128",),
    )


@hookimpl
def mmcore_kernels() -> list[Kernel]:
    """Return the rungs, and the highest ones in all layouts."""
    return [
        _rung(
            "i8.01_wgmma",
            "Exact products of bytes by wgmma, tiles in a ring by TMA; m and n of any size",
            "i8_01_wgmma.cu",
            _exact,
            _space(),
            dtype="int8",
            output="int32",
            column_major="B",
            constraints=(Multiple(("k", "lda", "ldb"), of=16),),
        ),
        _rung(
            "i8.02_slices",
            "float64 from products of bytes that are digits of the numbers; any size",
            "i8_02_slices.cu",
            _by_slices,
            _space(),
            reference=_OOTOMO,
            dtype="float64",
            unit="int8",
        ),
        _residues(
            "i8.03_residues",
            "float64 from products of bytes modulo small numbers, a launch for each modulus; any size",
            "float64",
            (14, 15),
            "",
            unfused=True,
        ),
        *(
            _residues(name, f"{dtype} from products of bytes modulo small numbers; any size", dtype, moduli, layout)
            for name, dtype, moduli in (("f64.04_int8", "float64", (14, 15)), ("f32.12_int8", "float32", (7,)))
            for layout in LAYOUTS
        ),
    ]
