"""Proofs of kernels that split float32 numbers into parts of fewer bits."""

from __future__ import annotations

from pathlib import Path

import pytest

from mmcore.cell import Cell
from mmcore_emulator.adapter.device import Emulator
from mmcore_emulator.adapter.proof import NOT_PROVED, PROVED, Proof, prove_cell
from tests.emulator.proof_corpus import SIZES, kernel

PRELUDE = """
__device__ float bf16(float x) { return __bfloat162float(__float2bfloat16(x)); }
__device__ float f16(float x) { return __half2float(__float2half(x)); }
__device__ float tf32(float x)
{
    unsigned cut;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(cut) : "f"(x));
    return __uint_as_float(cut);
}
#define HIGH_LOW(type) float ah = type(a), al = type(a - ah), bh = type(b), bl = type(b - bh);
#define THREE_PARTS float ah = bf16(a), am = bf16(a - ah), al = bf16(a - ah - am), \
                          bh = bf16(b), bm = bf16(b - bh), bl = bf16(b - bh - bm);
"""
BODY = (
    "float sum = 0; for (int p = 0; p < k; ++p) {{ float a = A_(row, p), b = B_(p, column); {} }}"
    "C[row * n + column] = sum;"
)
WMMA = "#include <mma.h>\nusing namespace nvcuda;"
TILES = r"""
__shared__ __nv_bfloat16 parts[2][3][16][16];
if (threadIdx.y == 0 && blockIdx.y < 4) {{
    const int top = blockIdx.y / 2 * 16, left = blockIdx.y % 2 * 16;
    for (int i = threadIdx.x; i < 256; i += 32) {{
        float rest[2] = {{A_(top + i / 16, i % 16), B_(i / 16, left + i % 16)}};
        for (int matrix = 0; matrix < 2; ++matrix)
            for (int part = 0; part < 3; ++part) {{
                parts[matrix][part][i / 16][i % 16] = __float2bfloat16(rest[matrix]);
                rest[matrix] -= __bfloat162float(parts[matrix][part][i / 16][i % 16]);
            }}
    }}
    __syncwarp();
    wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
    wmma::fill_fragment(sum, 0.0f);
    for (int i = 2; i >= 0; --i)
        for (int j = 2; j >= 0; --j)
            if ({}) {{
                wmma::fragment<wmma::matrix_a, 16, 16, 16, __nv_bfloat16, wmma::row_major> a;
                wmma::fragment<wmma::matrix_b, 16, 16, 16, __nv_bfloat16, wmma::row_major> b;
                wmma::load_matrix_sync(a, &parts[0][i][0][0], 16);
                wmma::load_matrix_sync(b, &parts[1][j][0][0], 16);
                wmma::mma_sync(sum, a, b, sum);
            }}
    wmma::store_matrix_sync(C + top * n + left, sum, n, wmma::mem_row_major);
}}
""".replace("\n", " ")
UNITS = {"bf16": 2.0**-8, "f16": 2.0**-11, "tf32": 2.0**-11}
SIX = "sum += ah * bl; sum += al * bh; sum += am * bm; sum += ah * bm; sum += am * bh; sum += ah * bh;"
THREE = "sum += ah * bl; sum += al * bh; sum += ah * bh;"
# A body with the outcome of its proof, and the largest error that its parts may leave, relative to |A|·|B|.
KERNELS = {
    "three parts of bfloat16": (BODY.format(f"THREE_PARTS {SIX}"), PROVED, 2.0**-22),
    "two parts of float16": (BODY.format(f"HIGH_LOW(f16) {THREE}"), PROVED, 3 * UNITS["f16"] ** 2),
    "two parts of TF32": (BODY.format(f"HIGH_LOW(tf32) {THREE}"), PROVED, 3 * UNITS["tf32"] ** 2),
    "two parts of one factor": (BODY.format("HIGH_LOW(f16) sum += ah * b; sum += al * b;"), PROVED, UNITS["f16"] ** 2),
    "a scaled low part": (
        BODY.format(
            "float ah = f16(a), al = f16((a - ah) * 2048.0f), bh = f16(b), bl = f16((b - bh) * 2048.0f);"
            "sum += ah * bh; sum += (ah * bl + al * bh) * (1.0f / 2048);"
        ),
        PROVED,
        3 * UNITS["f16"] ** 2,
    ),
    "three parts by tensor cores": (TILES.format("i + j < 3"), PROVED, 2.0**-22),
    "two parts of bfloat16": (BODY.format(f"HIGH_LOW(bf16) {THREE}"), NOT_PROVED, 3 * UNITS["bf16"] ** 2),
    "a low part of A is forgotten": (
        BODY.format("HIGH_LOW(f16) sum += ah * bh; sum += ah * bl;"),
        NOT_PROVED,
        2.0**-11,
    ),
    "a low part is subtracted": (
        BODY.format("HIGH_LOW(f16) sum += ah * b; sum -= al * b;"),
        NOT_PROVED,
        2 * UNITS["f16"],
    ),
    "a product of three parts is forgotten": (
        BODY.format(f"THREE_PARTS {SIX}".replace("sum += am * bm;", "")),
        NOT_PROVED,
        UNITS["bf16"] ** 2,
    ),
    "tensor cores forget low products": (TILES.format("i + j < 2"), NOT_PROVED, 3 * UNITS["bf16"] ** 2),
    "tensor cores forget all low parts": (TILES.format("i + j < 1"), NOT_PROVED, 2 * UNITS["bf16"]),
}


def proof(folder: Path, body: str) -> Proof:
    own = kernel(folder, "split", {"PRELUDE": (WMMA if "wmma" in body else "") + PRELUDE, "BODY": body})
    return prove_cell(Cell(own.name, *SIZES, seed=1), Emulator(), own)


@pytest.mark.parametrize("title", KERNELS)
def test_the_bound_of_a_kernel_that_splits_numbers_is_that_of_its_parts(title: str, tmp_path: Path) -> None:
    body, outcome, left = KERNELS[title]
    made = proof(tmp_path, body)
    assert made.outcome == outcome, made.reasons
    assert made.bound is not None
    assert left <= made.bound <= 8 * left + 20 * made.tolerance
    assert [each.kind for each in made.reasons] == ["rounding"] * (outcome == NOT_PROVED)
