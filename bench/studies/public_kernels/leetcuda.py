"""xlite-dev/LeetCUDA: products in float32, tf32 and float16, with and without tensor cores, copies in several stages.

Template parameters, paddings and launches are those of the functions for PyTorch, without block swizzling and with
three stages where they take a number. All of the float16 kernels sum in float16.
"""

from __future__ import annotations

from typing import Any

from bench.studies.public_kernels.declared import PublicKernel, Repository
from mmcore import Config, Launch, Multiple, Problem, ceil_div
from mmcore.kernel.properties import DeviceProperties

REPOSITORY = Repository(
    "LeetCUDA", "leetcuda", {"arguments": ("A", "B", "C", "m", "n", "k"), "min_compute_capability": (8, 0)}
)
_HALF: dict[str, Any] = {"dtype": "float16", "accumulator": "float16", "output": "float16"}
_STAGES = 3


def _tiles(
    name: str,
    file: str,
    family: str,
    parameters: str,
    tile: tuple[int, int, int],
    block: tuple[int, ...],
    shared: int = 0,
    **further: Any,
) -> PublicKernel:
    """A kernel whose blocks compute tile[0]×tile[1] elements each, in steps of tile[2]."""
    rows, columns, depth = tile

    def rule(problem: Problem, config: Config, device: DeviceProperties) -> Launch:
        return Launch((ceil_div(problem.n, columns), ceil_div(problem.m, rows)), block, shared)

    return REPOSITORY.kernel(
        name.lower(),
        f"kernels/{file}",
        family,
        f"{name}_kernel{parameters}",
        block=block,
        launch=rule,
        **{"constraints": (Multiple("m", rows), Multiple("n", columns), Multiple("k", depth)), **further},
    )


def _sgemm(name: str, file: str, bm: int, bn: int, bk: int, tm: int, tn: int, offset: str = "") -> PublicKernel:
    parameters = f"<{bm}, {bn}, {bk}, {tm}, {tn}{offset}>"
    return _tiles(name, f"sgemm/{file}.cu", "simt", parameters, (bm, bn, bk), (bn // tn, bm // tm))


def _hgemm(name: str, file: str, bk: int, tm: int = 8, offset: str = "") -> PublicKernel:
    parameters = f"<128, 128, {bk}, {tm}, 8{offset}>"
    block = (128 // 8, 128 // tm)
    return _tiles(name, f"hgemm/naive/{file}.cu", "simt", parameters, (128, 128, bk), block, **_HALF)


def _wmma(
    name: str, parameters: str, bm: int, bn: int, *, threads: int = 256, dynamic: bool = False, file: str = "stage"
) -> PublicKernel:
    """Half-precision wmma; rows of B have 16 elements between them where there are stages."""
    shared = _STAGES * 2 * (bm * 16 + 16 * (bn + 16)) if dynamic else 0
    path = f"hgemm/wmma/hgemm_wmma{'_stage' if file == 'stage' else ''}.cu"
    return _tiles(name, path, "wmma", f"<{parameters}>", (bm, bn, 16), (threads,), shared, **_HALF)


def _mma(
    name: str, file: str, parameters: str, *, steps: int = 1, a_pad: int = 8, b_pad: int = 8, by_columns: bool = False
) -> PublicKernel:
    """Half-precision mma.sync of 128×128 tiles in dynamic shared memory, ``steps`` of 16 columns at a time."""
    a = 128 * (16 + a_pad)
    b = 128 * (16 + b_pad) if by_columns else 16 * (128 + b_pad)
    return _tiles(
        name,
        f"hgemm/mma/{file}.cu",
        "mma.sync",
        f"<16, 8, 16, 2, 4, 4, 4, {parameters}>",
        (128, 128, 32),
        (256,),
        _STAGES * 2 * steps * (a + b),
        include=("../../utils",),
        column_major="B" if by_columns else "",
        **_HALF,
    )


_TF32: dict[str, Any] = {"dtype": "tf32", "accumulator": "float32", "output": "float32"}
_ASYNC = "sgemm_t_8x{}_sliced_k16_f32x4_bcf_dbuf{}"
_HGEMM = "hgemm_mma_m16n8k16_mma2x4_warp4x4"

KERNELS = (
    _tiles("sgemm_naive_f32", "sgemm/sgemm.cu", "simt", "", (32, 32, 1), (32, 32), constraints=()),
    _tiles("sgemm_sliced_k_f32", "sgemm/sgemm.cu", "simt", "<32, 32, 32>", (32, 32, 32), (32, 32)),
    _sgemm("sgemm_t_8x8_sliced_k_f32x4", "sgemm", 128, 128, 8, 8, 8),
    _sgemm("sgemm_t_8x8_sliced_k_f32x4_bcf", "sgemm", 128, 128, 8, 8, 8),
    _sgemm("sgemm_t_8x8_sliced_k_f32x4_bcf_dbuf", "sgemm", 128, 128, 8, 8, 8, ", 4"),
    _sgemm(_ASYNC.format(4, ""), "sgemm_async", 64, 64, 16, 8, 4),
    _sgemm(_ASYNC.format(4, "_async"), "sgemm_async", 64, 64, 16, 8, 4),
    _sgemm(_ASYNC.format(8, ""), "sgemm_async", 128, 128, 16, 8, 8),
    _sgemm(_ASYNC.format(8, "_async"), "sgemm_async", 128, 128, 16, 8, 8),
    _sgemm(_ASYNC.format(16, ""), "sgemm_async", 128, 256, 16, 8, 16),
    _sgemm(_ASYNC.format(16, "_async"), "sgemm_async", 128, 256, 16, 8, 16),
    *(
        # The host code rounds A and B to tf32 in place before: what the tensor cores do with them anyway.
        _tiles(
            f"sgemm_wmma_m16n16k8_mma4x2_warp2x4_stages{suffix}",
            "sgemm/sgemm_wmma_tf32_stage.cu",
            "wmma",
            f"<16, 16, 8, 4, 2, 2, 4, 0, 0, {_STAGES}, false>",
            (128, 128, 8),
            (256,),
            shared,
            **_TF32,
        )
        for suffix, shared in (("", 0), ("_dsmem", _STAGES * 2 * 128 * 8 * 4))
    ),
    _tiles("hgemm_naive_f16", "hgemm/naive/hgemm.cu", "simt", "", (32, 32, 1), (32, 32), constraints=(), **_HALF),
    _tiles("hgemm_sliced_k_f16", "hgemm/naive/hgemm.cu", "simt", "<32, 32, 32>", (32, 32, 32), (32, 32), **_HALF),
    _hgemm("hgemm_t_8x8_sliced_k_f16x4_pack", "hgemm", 8),
    _hgemm("hgemm_t_8x8_sliced_k_f16x8_pack_bcf_dbuf", "hgemm", 8, offset=", 8"),
    _hgemm("hgemm_t_8x8_sliced_k32_f16x8_pack_dbuf_async", "hgemm_async", 32, offset=", 8"),
    _hgemm("hgemm_t_16x8_sliced_k32_f16x8_pack_dbuf_async", "hgemm_async", 32, 16, offset=", 8"),
    _wmma("hgemm_wmma_m16n16k16_naive", "16, 16, 16", 16, 16, threads=32, file=""),
    _wmma("hgemm_wmma_m16n16k16_mma4x2", "16, 16, 16, 4, 2", 64, 32, file=""),
    _wmma("hgemm_wmma_m16n16k16_mma4x2_warp2x4", "16, 16, 16, 4, 2, 2, 4", 128, 128, file=""),
    _wmma("hgemm_wmma_m16n16k16_mma4x2_warp2x4_dbuf_async", "16, 16, 16, 4, 2, 2, 4, 8", 128, 128, file=""),
    _wmma("hgemm_wmma_m32n8k16_mma2x4_warp2x4_dbuf_async", "32, 8, 16, 2, 4, 2, 4, 8", 128, 128, file=""),
    _wmma("hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages", f"16, 16, 16, 4, 2, 2, 4, 0, 16, {_STAGES}, false", 128, 128),
    _wmma(
        "hgemm_wmma_m16n16k16_mma4x2_warp2x4_stages_dsmem",
        f"16, 16, 16, 4, 2, 2, 4, 0, 16, {_STAGES}, false",
        128,
        128,
        dynamic=True,
    ),
    _wmma(
        "hgemm_wmma_m16n16k16_mma4x4_warp4x4_stages_dsmem",
        f"16, 16, 16, 4, 4, 4, 4, 0, 16, {_STAGES}, false",
        256,
        256,
        threads=512,
        dynamic=True,
    ),
    _wmma(
        "hgemm_wmma_m16n16k16_mma4x2_warp4x4_stages_dsmem",
        f"16, 16, 16, 4, 2, 4, 4, 1, 0, 16, {_STAGES}, false",
        256,
        128,
        dynamic=True,
    ),
    _tiles(
        "hgemm_mma_m16n8k16_naive",
        "hgemm/mma/basic/hgemm_mma.cu",
        "mma.sync",
        "<16, 8, 16>",
        (16, 8, 16),
        (32,),
        **_HALF,
    ),
    _tiles(
        _HGEMM,
        "hgemm/mma/basic/hgemm_mma.cu",
        "mma.sync",
        "<16, 8, 16, 2, 4, 4, 4, 8, 8>",
        (128, 128, 16),
        (256,),
        **_HALF,
    ),
    _tiles(
        f"{_HGEMM}_stages",
        "hgemm/mma/basic/hgemm_mma_stage.cu",
        "mma.sync",
        f"<16, 8, 16, 2, 4, 4, 4, 8, 8, {_STAGES}, false>",
        (128, 128, 16),
        (256,),
        include=("../../utils",),
        **_HALF,
    ),
    _mma(f"{_HGEMM}_stages_dsmem", "basic/hgemm_mma_stage", f"8, 8, {_STAGES}, false"),
    _mma(f"{_HGEMM}x2_stages_dsmem", "basic/hgemm_mma_stage", f"2, 8, 8, {_STAGES}, false", steps=2),
    _mma(f"{_HGEMM}x2_stages_dsmem_x4", "basic/hgemm_mma_stage", f"2, 8, 8, {_STAGES}, false", steps=2),
    _mma(f"{_HGEMM}x2_stages_dsmem_rr", "basic/hgemm_mma_stage", f"2, 8, 8, {_STAGES}, false", steps=2),
    _mma(
        f"{_HGEMM}x2_stages_dsmem_swizzle",
        "swizzle/hgemm_mma_stage_swizzle",
        f"2, 0, 8, {_STAGES}, false",
        steps=2,
        a_pad=0,
    ),
    _mma(f"{_HGEMM}_stages_dsmem_tn", "basic/hgemm_mma_stage_tn", f"0, 8, {_STAGES}, false", a_pad=0, by_columns=True),
    _mma(
        f"{_HGEMM}_stages_dsmem_tn_swizzle",
        "swizzle/hgemm_mma_stage_tn_swizzle",
        f"0, 0, {_STAGES}, false",
        a_pad=0,
        b_pad=0,
        by_columns=True,
    ),
    _mma(
        f"{_HGEMM}x2_stages_dsmem_tn_swizzle_x2",
        "swizzle/hgemm_mma_stage_tn_swizzle_x2",
        f"2, 0, 8, {_STAGES}, false",
        steps=2,
        a_pad=0,
        by_columns=True,
    ),
    _mma(
        f"{_HGEMM}x2_stages_dsmem_tn_swizzle_x4",
        "swizzle/hgemm_mma_stage_tn_swizzle_x4",
        f"2, 0, 8, {_STAGES}, false, true",
        steps=2,
        a_pad=0,
        by_columns=True,
    ),
)
