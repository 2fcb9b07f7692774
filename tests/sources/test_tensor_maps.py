"""Tensor maps of a .cu file: boxes and swizzles as its host code encodes them, or as ``--args`` gives them."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path

import pytest

from mmcore import InvalidKernel, TensorMap, Workspace
from mmcore.devices.shared_bounds import without_consequences
from mmcore.devices.violations import Violation
from mmcore.kernel.constraints import Multiple
from mmcore_sources.cuda_file.repairs.edits import device_nodes
from mmcore_sources.cuda_file.repairs.matrix_load_edits import matrix_load_edits
from tests.command_line import mmcore as command
from tests.sources.test_source_file import grid, kernel, launch_text

pytestmark = pytest.mark.usefixtures("folder")

KERNEL = """
#include <cuda.h>
#include <cstdint>
constexpr int BM = 32, BN = 16, BK = 8;

struct Tiles {
    alignas(128) float a[BM * BK], b[BN * BK];
    alignas(8) uint64_t full;
};

__device__ void copy(float *to, const CUtensorMap *map, uint64_t *full, int column, int row)
{
    asm volatile("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes"
                 " [%0], [%1, {%2, %3}], [%4];"
                 :: "r"((unsigned)__cvta_generic_to_shared(to)), "l"(map), "r"(column), "r"(row),
                    "r"((unsigned)__cvta_generic_to_shared(full)) : "memory");
}

__global__ void product(PARAMETERS float *out, int M, int N, int K)
{
    extern __shared__ __align__(128) unsigned char bytes[];
    Tiles &t = *reinterpret_cast<Tiles *>(bytes);
    unsigned full = __cvta_generic_to_shared(&t.full);
    if (threadIdx.x == 0)
        asm volatile("mbarrier.init.shared::cta.b64 [%0], 1; fence.mbarrier_init.release.cluster;" :: "r"(full));
    __syncthreads();
    float sum = 0;
    int y = threadIdx.x / BN, x = threadIdx.x % BN;
    for (int step = 0; step < K / BK; ++step) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;"
                         :: "r"(full), "r"((BM + BN) * BK * 4));
            copy(t.a, FIRST, &t.full, step * BK, blockIdx.y * BM);
            copy(t.b, SECOND, &t.full, step * BK, blockIdx.x * BN);
        }
        for (int done = 0; !done;)
            asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.s32 %0, 1, 0, p; }"
                         : "=r"(done) : "r"(full), "r"(step & 1) : "memory");
        for (int p = 0; p < BK; ++p)
            sum += t.a[y * BK + p] * t.b[x * BK + p];
        __syncthreads();
    }
    out[(blockIdx.y * BM + y) * N + blockIdx.x * BN + x] = sum;
}
"""
BY_VALUE = {
    "PARAMETERS": "const __grid_constant__ CUtensorMap first, const __grid_constant__ CUtensorMap second,",
    "FIRST": "&first",
    "SECOND": "&second",
}
IN_MEMORY = {"PARAMETERS": "const CUtensorMap *first, const CUtensorMap *second,", "FIRST": "first", "SECOND": "second"}
LAUNCH = "product<<<dim3(N / BN, M / BM), BM * BN, sizeof(Tiles)>>>(x, y, c, M, N, K);"
ENCODE = """cuTensorMapEncodeTiled(TARGET, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, p, sides, pitch, box, ones,
    CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_NONE,
    CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)"""
ARRAYS = "cuuint64_t sides[2] = {SIDES}, pitch[1] = {4ull * w}; cuuint32_t box[2] = {BOX}, ones[2] = {1, 1};"
HELPER = ARRAYS.replace("SIDES", "(cuuint64_t)w, (cuuint64_t)h").replace("BOX", "uint32_t(WIDTH), HEIGHT")
RETURNED = (
    f"template <int HEIGHT, int WIDTH> CUtensorMap made(float *p, int h, int w) {{ CUtensorMap map; {HELPER}"
    f" {ENCODE.replace('TARGET', '&map')}; return map; }}\n"
    "void run(float *a, float *b, float *c, int M, int N, int K) { CUtensorMap x = made<BM, BK>(a, M, K);"
    f" CUtensorMap y = made<BN, BK>(b, N, K); {LAUNCH} }}\n"
    "int main() { float *a, *b, *c; run(a, b, c, 512, 512, 512); }\n"
)
FILLED = (
    f"CUresult fill(CUtensorMap *map, void *p, int h, int w, int HEIGHT, int WIDTH) {{ {HELPER} return"
    f" {ENCODE.replace('TARGET', 'map')}; }}\n"
    "void run(float *a, float *b, float *c, int M, int N, int K) { CUtensorMap x, y; fill(&x, a, M, K, BM, BK);"
    f" fill(&y, b, N, K, BN, BK); {LAUNCH} }}\n"
)
WRAPPED = (
    f"template <int HEIGHT, int WIDTH> void fill(CUtensorMap *map, void *p, int h, int w) {{ {HELPER}"
    f" {ENCODE.replace('TARGET', 'map')}; }}\n"
    "template <int Y, int X> CUtensorMap made(float *p, int high, int wide) { CUtensorMap map;"
    " fill<Y, X>(&map, p, high, wide); return map; }\n"
    "void run(float *a, float *b, float *c, int M, int N, int K) { CUtensorMap x = made<BM, BK>(a, M, K);"
    f" CUtensorMap y = made<BN, BK>(b, N, K); {LAUNCH} }}\n"
)
IN_PLACE = "".join(
    [
        "int main() { const int M = 64, N = 128, K = 32; float *p, *c; CUtensorMap x, y;",
        "{ int w = K; " + ARRAYS.replace("SIDES", "K, M").replace("BOX", "BK, BM") + ENCODE.replace("TARGET", "&x"),
        "; } { int w = K; " + ARRAYS.replace("SIDES", "K, N").replace("BOX", "BK, BN") + ENCODE.replace("TARGET", "&y"),
        f"; }} {LAUNCH} }}",
    ]
)
A, B = TensorMap("A", (32, 8)), TensorMap("B", (16, 8))


def source(host: str, changes: dict[str, str] = BY_VALUE) -> str:
    text = KERNEL + host
    for word, replaced in changes.items():
        text = text.replace(word, replaced)
    return text


@pytest.mark.parametrize(
    "host", [RETURNED, WRAPPED, FILLED, IN_PLACE], ids=["returned", "wrapped", "filled", "in place"]
)
def test_boxes_and_storage_are_those_of_the_host_code(host: str) -> None:
    found = kernel(source(host))
    assert (found.arguments, found.column_major) == ((A, B, "C", "m", "n", "k"), "B")
    assert grid(found) == "n // 16, m // 32"
    assert {Multiple("lda", 4), Multiple("ldb", 4)} <= {*found.constraints}


def test_maps_in_memory_are_passed_by_pointer() -> None:
    found = kernel(
        source(RETURNED.replace("CUtensorMap x =", "CUtensorMap *x =").replace("y = made", "*y = made"), IN_MEMORY)
    )
    assert [each.pointer for each in found.arguments if isinstance(each, TensorMap)] == [True, True]


def test_a_further_pointer_beside_maps_gets_zeros() -> None:
    changes = {**BY_VALUE, "float *out": "int *log, float *out", "(x, y, c": "(x, y, log, c"}
    found = kernel(source(RETURNED, changes)).arguments
    assert found[:2] + found[3:] == (A, B, "C", "m", "n", "k")
    assert isinstance(found[2], Workspace)


def test_a_map_of_a_fourth_matrix_is_refused() -> None:
    third = "const __grid_constant__ CUtensorMap third, const __grid_constant__ CUtensorMap fourth,"
    changes = {**BY_VALUE, "PARAMETERS": BY_VALUE["PARAMETERS"] + third, "(x, y, c": "(x, y, x, y, c"}
    with pytest.raises(InvalidKernel, match=r"product takes 4 tensor maps \(first, second, third, fourth\)"):
        kernel(source(RETURNED, changes))


def test_the_swizzle_is_read() -> None:
    swizzled = RETURNED.replace("SWIZZLE_NONE", "SWIZZLE_32B")
    assert [each.swizzle for each in kernel(source(swizzled)).arguments if isinstance(each, TensorMap)] == [32, 32]


def test_boxes_of_three_axes_are_pieces_of_rows() -> None:
    pieces = HELPER.replace("(cuuint64_t)w, (cuuint64_t)h", "4, h, w / 4").replace("uint32_t(WIDTH)", "4")
    pieces = pieces.replace("HEIGHT}", "HEIGHT, WIDTH / 4}").replace("[2]", "[3]")
    host = RETURNED.replace(HELPER, pieces).replace("FLOAT32, 2", "FLOAT32, 3")
    found = kernel(source(host))
    maps = [each for each in found.arguments if isinstance(each, TensorMap)]
    assert [each.box for each in maps] == [(2, 32, 4), (2, 16, 4)]
    assert {Multiple("lda", 4), Multiple("ldb", 4)} <= {*found.constraints}


@pytest.mark.parametrize("host", [RETURNED, IN_PLACE], ids=["function", "in place"])
def test_a_file_with_tensor_maps_is_verified_by_one_command(folder: Path, host: str) -> None:
    (folder / "my.cu").write_text(source(host))
    output = command(*shlex.split("run my.cu --device emulator")).output
    assert "TEST PASS if" in output
    assert "hazards          none" in output


def test_a_race_in_it_is_found(folder: Path) -> None:
    (folder / "my.cu").write_text(source(RETURNED).replace("        __syncthreads();\n    }", "    }"))
    result = command(*shlex.split("check my.cu --device emulator"))
    assert (result.exit_code, "shared-race" in result.output) == (1, True)


def test_exchanged_coordinates_of_a_copy_are_named(folder: Path) -> None:
    exchanged = source(RETURNED).replace("step * BK, blockIdx.y * BM", "blockIdx.y * BM, step * BK")
    (folder / "my.cu").write_text(exchanged)
    output = command(*shlex.split("run my.cu --device emulator --size 64 --seed 1 --quiet")).output
    assert "with step * BK, blockIdx.y * BM as coordinates of the copy in line 33:" in output


@pytest.mark.parametrize(
    "copy",
    [
        "load_of_a_header(tile, &map, full, x, y);",
        'asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map),'
        ' "r"(at(tile)), "r"(x), "r"(y) : "memory");',
    ],
    ids=["header", "asm"],
)
def test_coordinates_are_exchanged_in_statements_and_calls_of_headers(copy: str) -> None:
    text = f"__global__ void f(const __grid_constant__ CUtensorMap map, int x, int y)\n{{\n    {copy}\n}}\n"
    changed = {each.text for each in matrix_load_edits(text.encode(), device_nodes(text, "f"))}
    exchanged = text.replace('"r"(x), "r"(y)', '"r"(y), "r"(x)') if "asm" in copy else text.replace("x, y);", "y, x);")
    assert exchanged in changed


def test_exchanged_coordinates_of_all_copies_leave_the_storage_of_the_map(folder: Path) -> None:
    """The boxes are square, and the copies alone show B by columns."""
    text = source(RETURNED.replace("made<BN, BK>(b, N, K)", "made<BK, BN>(b, K, N)")).replace("BK = 8", "BK = 16")
    copy = "copy(t.b, &second, &t.full, step * BK, blockIdx.x * BN);"
    assert copy in text
    text = text.replace("t.b[x * BK + p]", "t.b[p * BN + x]").replace("BM = 32", "BM = 16")
    exchanged = text.replace(copy, f"if (step % 2) {copy} else {copy}")
    assert kernel(exchanged).column_major == ""
    (folder / "my.cu").write_text(exchanged)
    output = command(*shlex.split("run my.cu --device emulator --size 64 --seed 1 --quiet")).output
    assert "with blockIdx.x * BN, step * BK as coordinates of all copies by second in line 34:" in output
    assert "wrong-extent" not in output


def test_without_host_code_the_suggested_boxes_can_be_pasted(folder: Path) -> None:
    (folder / "my.cu").write_text(source(""))
    refused = command(*shlex.split("run my.cu --device emulator"))
    assert (refused.exit_code, "encodes the tensor map first" in refused.output) == (2, True)
    (suggested,) = (each.strip() for each in refused.output.splitlines() if each.startswith("  mmcore run"))
    assert "--args A:32x8:0,B:16x8:0,C,m,n,k" in suggested
    output = command(*shlex.split(suggested)[1:]).output
    assert "hint: without a remainder, at 64×48×64, the product is right" in output


def test_without_host_code_copies_show_the_grid_and_a_structure_the_shared_memory() -> None:
    """The store's index is in a function, and the structure has 2048 + 1024 floats and a barrier, and 127 before it."""
    store = "store(out, sum, N, blockIdx.y * BM + y, blockIdx.x * BN + x);"
    helper = "__device__ void store(float *out, float sum, int N, int y, int x) { out[y * N + x] = sum; }\n"
    aligned = "(Tiles *)(((uintptr_t)bytes + 127) / 128 * 128)"
    changes = {
        **BY_VALUE,
        "out[(blockIdx.y * BM + y) * N + blockIdx.x * BN + x] = sum;": store,
        "__device__ void copy": helper + "__device__ void copy",
        "reinterpret_cast<Tiles *>(bytes)": aligned,
    }
    found = kernel(source("", changes), args=["A:32x8:0", "B:16x8:0", *"Cmnk"], block=(512,))
    rule = launch_text(found)
    assert (rule.grid, rule.shared_bytes, rule.guessed_array) == ("ceil(n / 16), ceil(m / 32)", "1792", "")


def test_an_access_behind_a_guessed_shared_memory_is_the_only_fault(folder: Path) -> None:
    text = source("").replace("*reinterpret_cast<Tiles *>(bytes)", "*(Tiles *)(void *)(bytes + FAR)")
    text = text.replace("struct Tiles", "#define FAR (12000 * sizeof(float))\nstruct Tiles")
    text = text.replace("Tiles {", "Tiles : Base {").replace("struct Tiles", "struct Base {}; struct Tiles")
    (folder / "my.cu").write_text(text)
    args = "run my.cu --args A:32x8:0,B:16x8:0,C,m,n,k --block 512 -m 64 -n 64 -k 32 --device emulator"
    output = command(*shlex.split(args)).stdout
    assert output.count("the 49152 bytes of dynamic shared memory are a guess, and too few") == 1
    assert [each for each in ("mbarrier-misuse", "early-wait", "unfinished-copy", "warning:") if each in output] == []
    assert "hint: with --shared 98304 the product is right at" in output


def test_too_few_bytes_of_dynamic_shared_memory_are_the_only_fault(folder: Path) -> None:
    (folder / "my.cu").write_text(source(RETURNED).replace(", sizeof(Tiles)>", ", sizeof(Tiles) - 256>"))
    output = command(*shlex.split("run my.cu -m 64 -n 64 -k 32 --device emulator --quiet")).stdout
    faults = [line for line in output.splitlines() if " at my.cu:" in line]
    assert ["of which the launch gives 1408 bytes, and the kernel uses 15" in each for each in faults] == [True]
    assert faults[0].startswith("out-of-bounds-write at my.cu:25:")


def test_a_race_beside_an_access_behind_a_shared_array_has_no_hint_on_a_barrier() -> None:
    race = Violation("shared-race", "writes element 64 of tile", "shared", hint="__syncthreads() before line 20")
    beyond = Violation("out-of-bounds-write", "writes the first byte past the end of tile (shared)", "shared")
    assert without_consequences((race, beyond), None) == (replace(race, hint=""), beyond)
    assert without_consequences((race,), None) == (race,)


def test_a_box_for_a_pointer_is_refused(folder: Path) -> None:
    (folder / "my.cu").write_text(source(RETURNED))
    refused = command(*shlex.split("run my.cu --args A,B,C:8x8,m,n,k"))
    assert (refused.exit_code, "--args passes C:8x8 as 'float* out', which is no CUtensorMap" in refused.output) == (
        2,
        True,
    )


@pytest.mark.parametrize("host", [RETURNED, FILLED], ids=["program", "function"])
def test_a_package_declares_the_maps_and_whole_tiles(host: str, folder: Path) -> None:
    (folder / "my.cu").write_text(source(host))
    assert command(*shlex.split("new-plugin acme.tma --from my.cu")).exit_code == 0
    (module,) = folder.rglob("tma.py")
    text = module.read_text()
    assert 'TensorMap("A", box=(32, 8), swizzle=0), TensorMap("B", box=(16, 8), swizzle=0)' in text
    assert all(f"Multiple({each})" in text for each in ('("m",), 32', '("n",), 16', '("k",), 8'))
    assert "min_compute_capability=(9, 0)" in text


def test_kernels_of_an_included_header_are_those_of_a_file_without_products(folder: Path) -> None:
    (folder / "parts.cuh").write_text(source(RETURNED))
    (folder / "my.cu").write_text('#include "parts.cuh"\n__global__ void warm() {}\n')
    output = command(*shlex.split("run my.cu --device emulator")).output
    assert "encoded in line" in " ".join(output.split())
    assert "TEST PASS if" in output


def test_products_stored_by_columns_are_seen_in_the_stores() -> None:
    by_columns = source(RETURNED).replace(
        "out[(blockIdx.y * BM + y) * N + blockIdx.x * BN + x]", "out[(blockIdx.x * BN + x) * M + blockIdx.y * BM + y]"
    )
    assert kernel(by_columns).column_major == "BC"
