"""Which instructions the emulator knows, asked of its code."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator

from bench.tables.markdown import markdown
from mmcore_emulator.isa.table import semantics_of

_SHAPES = ("m8n8k4", "m8n8k16", "m8n8k32", "m8n8k128", *(f"m16n8k{k}" for k in (4, 8, 16, 32, 64, 128, 256)))
_TYPES = ("f16", "bf16", "tf32", "f64", "e4m3", "e5m2", "s8", "u8", "s4", "u4", "b1")
_EIGHT = ("e4m3", "e5m2"), ("s8", "u8"), ("s4", "u4")
_PAIRS = [*((each, each) for each in _TYPES), *(pair for two in _EIGHT for pair in itertools.permutations(two))]
_SUMS = ("f16", "f32", "f64", "s32")
_TILES = ("m16n16k16", "m32n8k16", "m8n32k16", "m16n16k8", "m8n8k4", "m8n8k32", "m8n8k128")
_LAYOUTS = ("row", "col")
_SHARED = ("shared::cta", "shared::cluster")
_SIZES = (".x1", ".x2", ".x4")


def instructions() -> str:
    """Families of instructions, with how many forms of each the emulator knows; what it knows none of is refused."""
    rows = []
    for family, forms in _families():
        known = [each for each in dict.fromkeys(forms) if _known(each)]
        rows.append([family, f"{len(known):,}" if known else "refused"])
    return markdown(("instructions", "forms"), rows)


def _known(opcode: str) -> bool:
    return semantics_of(tuple(opcode.split("."))) is not None


def _families() -> Iterator[tuple[str, Iterable[str]]]:
    yield (
        "`mma.sync`",
        (
            f"mma.sync.aligned.{shape}.row.col{more}.{d}.{a}.{b}.{d}"
            for shape, more, d, (a, b) in itertools.product(_SHAPES, ("", ".satfinite"), _SUMS, _PAIRS)
        ),
    )
    yield "`mma.sp`", (f"mma.sp.sync.aligned.{shape}.row.col.f32.f16.f16.f32" for shape in _SHAPES)
    yield "`ldmatrix`, `stmatrix`", _matrix_moves()
    yield "`wmma.load`, `wmma.store`, `wmma.mma`", _wmma()
    yield (
        "`wgmma.mma_async`",
        (
            f"wgmma.mma_async.sync.aligned.m64n{n}k{k}{more}.{d}.{a}.{b}"
            for n, k, more, d, (a, b) in itertools.product(
                range(8, 257, 8), (8, 16, 32, 256), ("", ".satfinite"), _SUMS, _PAIRS
            )
        ),
    )
    yield "`wgmma.mma_async.sp`", ("wgmma.mma_async.sp.sync.aligned.m64n64k32.f32.f16.f16",)
    yield (
        "`wgmma.fence`, `wgmma.commit_group`, `wgmma.wait_group`",
        (f"wgmma.{each}.sync.aligned" for each in ("fence", "commit_group", "wait_group")),
    )
    yield "`cp.async`, its groups and waits", _thread_copies()
    yield "`mbarrier`, `cp.async.mbarrier.arrive`", _mbarriers()
    yield "`cp.async.bulk`, its groups and waits", _bulk_copies()
    yield "`cp.async.bulk.tensor`", _tensor_copies()
    yield (
        "`cp.async.bulk.tensor…im2col`",
        ("cp.async.bulk.tensor.3d.shared::cluster.global.im2col.mbarrier::complete_tx::bytes",),
    )
    yield "`cp.reduce.async.bulk`, `cp.reduce.async.bulk.tensor`", _bulk_reductions()
    yield (
        "`st.async`, `red.async`",
        (
            f"{name}.shared::cluster.mbarrier::complete_tx::bytes{size}.{kind}"
            for name in (
                "st.async",
                *(f"red.async.relaxed.cluster.{each}" for each in ("add", "min", "max", "and", "or")),
            )
            for size in ("", ".v2", ".v4")
            for kind in ("b32", "b64", "u32", "s32", "u64", "f32")
        ),
    )
    yield (
        "`mapa`, `getctarank`",
        (
            f"{name}{space}.{kind}"
            for name in ("mapa", "getctarank")
            for space in ("", ".shared::cluster")
            for kind in ("u32", "u64")
        ),
    )
    yield (
        "`fence.proxy`, `fence.mbarrier_init`",
        (
            "fence.proxy.async",
            *(f"fence.proxy.async.{each}" for each in ("global", *_SHARED)),
            "fence.proxy.alias",
            "fence.mbarrier_init.release.cluster",
            "fence.proxy.tensormap::generic.release.gpu",
            "fence.proxy.tensormap::generic.acquire.gpu",
        ),
    )
    yield (
        "`setmaxnreg`, `griddepcontrol`, `nanosleep`",
        (
            "setmaxnreg.inc.sync.aligned.u32",
            "setmaxnreg.dec.sync.aligned.u32",
            "griddepcontrol.wait",
            "griddepcontrol.launch_dependents",
            "nanosleep.u32",
        ),
    )
    yield "`multimem`", ("multimem.ld_reduce.relaxed.sys.global.add.f32",)


def _matrix_moves() -> Iterator[str]:
    for name, size, transposed, space in itertools.product(
        ("ldmatrix", "stmatrix"), _SIZES, ("", ".trans"), ("shared", *_SHARED)
    ):
        yield f"{name}.sync.aligned.m8n8{size}{transposed}.{space}.b16"


def _wmma() -> Iterator[str]:
    for shape, layout, space, kind in itertools.product(
        _TILES, _LAYOUTS, ("", ".shared", ".global"), (*_TYPES, *_SUMS)
    ):
        for move in ("load.a", "load.b", "load.c", "store.d"):
            yield f"wmma.{move}.sync.aligned.{layout}.{shape}{space}.{kind}"
    for shape, a, b, kind, d in itertools.product(_TILES, _LAYOUTS, _LAYOUTS, _TYPES, _SUMS):
        yield f"wmma.mma.sync.aligned.{a}.{b}.{shape}.{d}.{kind}.{kind}.{d}"
        yield f"wmma.mma.sync.aligned.{a}.{b}.{shape}.{d}.{d}"


def _thread_copies() -> Iterator[str]:
    yield from ("cp.async.commit_group", "cp.async.wait_group", "cp.async.wait_all")
    for cache, space, hint, size in itertools.product(
        ("ca", "cg"), ("shared", "shared::cta"), ("", ".L2::cache_hint"), ("", ".L2::64B", ".L2::128B", ".L2::256B")
    ):
        yield f"cp.async.{cache}.{space}.global{hint}{size}"


def _mbarriers() -> Iterator[str]:
    spaces = ("", ".shared", *(f".{each}" for each in _SHARED))
    for space in spaces:
        yield from (f"cp.async.mbarrier.arrive{more}{space}.b64" for more in ("", ".noinc"))
        yield from (f"mbarrier.{each}{space}.b64" for each in ("init", "inval"))
        for semantics, scope in itertools.product(("", ".release", ".relaxed", ".acquire"), ("", ".cta", ".cluster")):
            for name in (
                "arrive",
                "arrive.expect_tx",
                "arrive.noComplete",
                "arrive_drop",
                "arrive_drop.expect_tx",
                "expect_tx",
                "complete_tx",
                "test_wait",
                "test_wait.parity",
                "try_wait",
                "try_wait.parity",
            ):
                yield f"mbarrier.{name}{semantics}{scope}{space}.b64"
    yield "mbarrier.pending_count.b64"


def _bulk_copies() -> Iterator[str]:
    yield from (f"cp.async.bulk.{each}" for each in ("commit_group", "wait_group", "wait_group.read"))
    for source, target in itertools.product(("global", *_SHARED), repeat=2):
        for end, more in itertools.product(
            (".mbarrier::complete_tx::bytes", ".bulk_group"), ("", ".multicast::cluster", ".L2::cache_hint", ".cp_mask")
        ):
            yield f"cp.async.bulk.{target}.{source}{end}{more}"
    yield from (f"cp.async.bulk.prefetch.L2.global{hint}" for hint in ("", ".L2::cache_hint"))


def _tensor_copies() -> Iterator[str]:
    for axes, tile in itertools.product(range(1, 6), ("", ".tile")):
        for more in ("", ".multicast::cluster", ".L2::cache_hint", ".multicast::cluster.L2::cache_hint"):
            yield f"cp.async.bulk.tensor.{axes}d.shared::cluster.global{tile}.mbarrier::complete_tx::bytes{more}"
            yield f"cp.async.bulk.tensor.{axes}d.shared::cta.global{tile}.mbarrier::complete_tx::bytes{more}"
        for hint in ("", ".L2::cache_hint"):
            yield f"cp.async.bulk.tensor.{axes}d.global.shared::cta{tile}.bulk_group{hint}"
            yield f"cp.async.bulk.prefetch.tensor.{axes}d.L2.global{tile}{hint}"


def _bulk_reductions() -> Iterator[str]:
    operations = ("add", "min", "max", "inc", "dec", "and", "or", "xor")
    for operation, kind, more in itertools.product(
        operations, ("f16", "bf16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"), ("", ".noftz")
    ):
        yield f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{operation}{more}.{kind}"
        yield f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{operation}.{kind}"
    for axes, operation, tile in itertools.product(range(1, 6), operations, ("", ".tile")):
        yield f"cp.reduce.async.bulk.tensor.{axes}d.global.shared::cta.{operation}{tile}.bulk_group"
