"""Machine code: instructions, loops and spills, of kernels that NVRTC compiles."""

from __future__ import annotations

import re
from pathlib import Path
from types import SimpleNamespace

import pytest

from mmcore.compile.compiled_module import CompiledModule
from mmcore_cuda.machine_code import MISSING, Function, has_lines, machine_code, unoptimised
from mmcore_cuda.machine_code.function import Spilled
from mmcore_cuda.machine_code.instructions import Instruction, listings
from mmcore_cuda.machine_code.kinds import KINDS, kind_of
from mmcore_cuda.machine_code.loops import innermost_loops
from mmcore_cuda.machine_code.nvdisasm import disassembly, programs
from mmcore_cuda.machine_code.register_banks import bank_conflicts
from mmcore_cuda.nvrtc.source_compilation import compile_source
from mmcore_emulator.profiler.counters import Line
from tests.kernel_sources import kernel_source
from tests.tables import table

TILED = """extern "C" __global__ void f(const float* A, const float* B, float* C, int n) {
    __shared__ float a[16][16], b[16][16];
    int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < n / 16; t++) {
        a[threadIdx.y][threadIdx.x] = A[row * n + t * 16 + threadIdx.x];
        b[threadIdx.y][threadIdx.x] = B[(t * 16 + threadIdx.y) * n + column];
        __syncthreads();
        for (int k = 0; k < 16; k++)
            sum += a[threadIdx.y][k] * b[k][threadIdx.x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
"""
SPILLING = kernel_source("spilled_sums")
ARCHITECTURES = ("75", "80", "89", "90a", "100a", "120")


def compiled(source: str, *options: str, architecture: str = "90", function: str = "f") -> CompiledModule:
    every = (f"-arch=sm_{architecture}", "--ptxas-options=-v", *options)
    return compile_source("test.f", Path("kernel.cu"), source, every, (function,))[0]


@pytest.fixture(scope="module", autouse=True)
def disassembler() -> None:
    if machine_code(compiled(TILED).cubin) is None:
        pytest.skip("nvdisasm is not installed; python -m pip install 'mmcore-cuda[sass]' brings it")


def function(source: str, *options: str, architecture: str = "90") -> Function:
    functions = machine_code(compiled(source, "-lineinfo", *options, architecture=architecture).cubin)
    assert functions is not None
    return functions["f"]


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_loop_of_a_tiled_product_has_its_instructions_by_line(architecture: str) -> None:
    code = function(TILED, architecture=architecture)
    loop = max(code.loops, key=lambda loop: len(loop.instructions))
    mix = Function.mix(loop.instructions)
    tiles = mix["fma"] // 16  # newer compilers unroll the loop over tiles
    assert mix["fma"] == 16 * tiles
    assert (mix["global load"], mix["barrier"], mix["branch"]) == (2 * tiles, 2 * tiles, 1)
    # 16 elements of b, which are 64 bytes apart, 16 neighbours of a in vectors of 4, and a store to each tile.
    assert mix["shared"] == (16 + 4 + 2) * tiles
    assert {"local", "atomic", "fp64", "tensor"}.isdisjoint(mix)
    assert {line.source for line in loop.lines} == {"kernel.cu"}
    assert {6, 7, 10} <= {line.number for line in loop.lines} <= {3, *range(5, 12)}  # 3: addresses
    by_line = code.by_line()
    assert sum(map(len, by_line.values())) == len(code.instructions)
    assert Function.mix(by_line[Line("kernel.cu", 13)])["global store"] == 1


@pytest.mark.parametrize(("architecture", "lines"), [*((each, True) for each in ARCHITECTURES), ("90a", False)])
def test_spilled_bytes_are_those_that_ptxas_reports(architecture: str, lines: bool) -> None:
    module = compiled(SPILLING, *["-lineinfo"] * lines, architecture=architecture)
    functions, report = machine_code(module.cubin), module.functions["f"]
    assert functions is not None
    spills = functions["f"].spills_by_line()
    total = Spilled(*map(sum, zip(*spills.values(), strict=True)))
    assert total == (report.spill_store_bytes, report.spill_load_bytes)
    assert total > (0, 0)
    assert (8 in {line.number for line in spills}) == lines


@pytest.mark.parametrize(("columns", "bounds"), [(8, "256"), (8, "256, 1"), (256, "256")])
def test_registers_are_reallocated_where_the_assembler_keeps_setmaxnreg(columns: int, bounds: str) -> None:
    """It leaves the instruction out where it does not know the registers at the launch."""
    count = columns // 2
    places = ", ".join(f"%{each}" for each in range(count))
    values = {
        "SHAPE": f"m64n{columns}k16",
        "COUNT": count,
        "BOUNDS": bounds,
        "PLACES": places,
        "DESCRIPTOR": f"%{count}",
    }
    values["SUMS"] = ", ".join(f'"+f"(sum[{each}])' for each in range(count))
    module = compiled(kernel_source("reallocated_registers", **values), architecture="90a")
    functions = machine_code(module.cubin)
    assert functions is not None
    kept = any(each.name == "USETMAXREG" for each in functions["f"].instructions)
    assert module.functions["f"].reallocates_registers == kept == ((columns, bounds) != (8, "256"))


@pytest.mark.parametrize(("folder", "line"), [("include", Line("more.cuh", 3)), ("cutlass", Line("kernel.cu", 4))])
def test_code_of_a_library_belongs_to_the_line_that_calls_it(
    folder: str, line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / folder).mkdir()
    (tmp_path / folder / "more.cuh").write_text("\n\n__device__ float root(float x) { return sqrtf(x); }\n")
    source = """#include "more.cuh"
    extern "C" __global__ void f(float* A) {
        A[threadIdx.x] =
            root(A[threadIdx.x]);
    }"""
    by_line = function(source, f"-I{folder}").by_line()
    assert Function.mix(by_line[line])["special function"] == 1
    assert {each.source for each in by_line} == {"kernel.cu", line.source}


def test_an_array_in_local_memory_is_no_spill() -> None:
    source = """extern "C" __global__ void f(const float* A, float* C, int n) {
        float x[64];
        for (int i = 0; i < 64; i++) x[i] = A[i];
        for (int i = 0; i < n; i++) x[i % 64] += x[i * 7 % 64];
        C[threadIdx.x] = x[n % 64];
    }"""
    code = function(source)
    assert Function.mix(code.instructions)["local"] >= 16
    assert code.spills_by_line() == {}


LOOPS = """extern "C" __global__ void f(const float* A, float* C, int n) {
    float sum = 0;
    #pragma unroll 1
    for (int i = 0; i < n; i++) {
        #pragma unroll 1
        for (int j = 0; j < i; j++) {
            if (A[j] < 0) continue;
            if (A[j] > 99) { sum = A[0]; break; }
            sum += sqrtf(A[i + j]);
        }
        #pragma unroll 1
        for (int j = 0; j < n; j++)
            sum += A[i * j];
    }
    C[0] = sum;
}"""


def test_innermost_loops_have_every_path_through_them() -> None:
    first, second = function(LOOPS).loops
    assert {7, 9} <= {line.number for line in first.lines} <= {*range(5, 11)}
    assert {13} <= {line.number for line in second.lines} <= {12, 13}
    assert Function.mix(first.instructions)["special function"] == 1
    assert Function.mix(second.instructions)["fma"] == Function.mix(second.instructions)["global load"] == 1


def test_a_loop_has_all_branches_of_a_switch() -> None:
    cases = "".join(f"case {number}: sum = sum * A[{number}] + {number}; break;" for number in range(12))
    (loop,) = function(f"""extern "C" __global__ void f(float* A, const int* which, int n) {{
        float sum = 0;
        #pragma unroll 1
        for (int i = 0; i < n; i++)
            switch (which[i]) {{ {cases} default: sum = sqrtf(A[i]); }}
        A[0] = sum;
    }}""").loops
    mix = Function.mix(loop.instructions)
    assert mix["global load"] >= 12
    assert mix["fma"] >= 12
    assert mix["special function"] == 1


def test_a_loop_that_waits_for_an_mbarrier_is_part_of_the_loop_around_it() -> None:
    (loop,) = function("""extern "C" __global__ void f(float* A, int n) {
        __shared__ unsigned long long barrier;
        unsigned at = (unsigned)__cvta_generic_to_shared(&barrier);
        float sum = 0;
        #pragma unroll 1
        for (int i = 0; i < n; i++) {
            for (int done = 0; !done;)
                asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2;"
                             "selp.b32 %0, 1, 0, p; }" : "=r"(done) : "r"(at), "r"(i & 1) : "memory");
            sum += A[i];
        }
        A[0] = sum;
    }""").loops
    mix = Function.mix(loop.instructions)
    assert mix["fma"] == mix["global load"] == 1
    assert mix["barrier"] >= 1


def test_code_without_loops_has_none() -> None:
    assert function('extern "C" __global__ void f(float* A) { A[threadIdx.x] = 1; }').loops == ()


@pytest.mark.parametrize(
    ("kind", "statement"),
    [
        ("fp64", "double x = A[0]; A[1] = x * x + 3;"),
        ("conversion", "A[0] = (int)A[1] * 3;"),
        ("special function", "A[0] = rsqrtf((float)A[1]);"),
        ("atomic", "atomicAdd(A, 1.0);"),
        ("local", "int i = A[0]; double x[99] = {}; x[i] = 1; A[1] = x[i / 2];"),
        ("barrier", "__syncthreads();"),
        ("copy", 'asm("cp.async.ca.shared.global [%0], [%1], 8;" :: "r"(0), "l"(A));'),
    ],
)
def test_kinds_of_instructions(kind: str, statement: str) -> None:
    code = function(f'extern "C" __global__ void f(double* A) {{ {statement} }}')
    assert kind in Function.mix(code.instructions)
    assert {*Function.mix(code.instructions)} <= set(KINDS)


def test_a_product_on_tensor_cores_is_of_that_kind() -> None:
    source = """extern "C" __global__ void f(const unsigned* A, float* C) {
        float c[4] = {};
        asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
            "{%0, %1, %2, %3};" : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
            : "r"(A[0]), "r"(A[1]), "r"(A[2]), "r"(A[3]), "r"(A[4]), "r"(A[5]));
        for (int i = 0; i < 4; i++) C[i] = c[i];
    }"""
    assert Function.mix(function(source).instructions)["tensor"] == 1


@table(
    "options missing lines",
    """
    -lineinfo  -  yes
    -fmad=true  -  no
    -G  -G  yes
    -lineinfo,-Xptxas=-O0  -Xptxas=-O0  yes
    -Xptxas=-O3  -  no
    """,
)
def test_options_that_a_cubin_was_compiled_with(options: str, missing: str, lines: str) -> None:
    cubin = compiled(TILED, *options.split(",")).cubin
    assert (unoptimised(cubin), has_lines(cubin)) == (missing.strip("-") and missing, lines == "yes")


ROWS = """
	.section	.text.f,"ax",@progbits
f:
.text.f:
	//## File "/src/kernel.cu", line 7
        /*0000*/                   FFMA R8, R2.reuse, R4, R6 ;      /* 0x0000000402087223 */
                                                                    /* 0x080fe20000000006 */
        /*0010*/                   FFMA R9, R2, R4, R6 ;            /* 0x0000000402097223 */
                                                                    /* 0x001fca0000000006 */
.L_x_0:
        /*0020*/                   FFMA R9, R2, R5, R6 ;            /* 0x0000000502097223 */
                                                                    /* 0x000fe20000000006 */
        /*0030*/                   IADD3 R4, P1, R14, R22, RZ ;     /* 0x000000160e047210 */
                                                                    /* 0x042fe20007f3e0ff */
        /*0040*/                   LDG.E.128 R4, desc[UR4][R2.64] ; /* 0x0000000402047981 */
                                                                    /* 0x0002a2000c1e1d00 */
        /*0050*/              @!P0 BRA `(.L_x_0) ;                  /* 0xfffffffc003c8947 */
                                                                    /* 0x000fea000383ffff */
        /*0060*/                   EXIT ;                           /* 0x000000000000794d */
                                                                    /* 0x000fea0003800000 */
.L_x_1:
        /*0070*/                   BRA `(.L_x_1);                   /* 0xfffffffc00fc7947 */
                                                                    /* 0x000fc0000383ffff */
        /*0080*/                   NOP;                             /* 0x0000000000007918 */
                                                                    /* 0x000fc00000000000 */
"""


def test_a_listing_has_predicates_labels_and_no_padding() -> None:
    (listing,) = listings(ROWS)
    *_, load, branch, last = listing.instructions
    assert (listing.name, last.opcode, listing.labels[".L_x_0"]) == ("f", "EXIT", 0x20)
    assert (load.nbytes, load.line, load.operands) == (16, Line("kernel.cu", 7), ("R4", "desc[UR4][R2.64]"))
    assert (branch.predicate, branch.targets) == ("!P0", (".L_x_0",))
    (loop,) = innermost_loops(listing)
    assert [at.address for at in loop.instructions] == [0x20, 0x30, 0x40, 0x50]


def test_three_registers_of_one_bank_conflict_unless_one_is_kept() -> None:
    (listing,) = listings(ROWS)
    assert [at.address for at in bank_conflicts(listing.instructions)] == [0]
    kept, alone = listing.instructions[:2]
    assert [*map(kind_of, (kept, alone))] == ["fma", "fma"]
    assert bank_conflicts([alone]) == (alone,)


def test_without_a_disassembler_there_is_no_machine_code(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mmcore_cuda.machine_code.nvdisasm.programs", lambda: iter(["/no/such/program"]))
    disassembly.cache_clear()
    machine_code.cache_clear()
    assert machine_code(compiled(TILED).cubin) is None
    disassembly.cache_clear()
    machine_code.cache_clear()
    assert re.search(r"mmcore-cuda\[sass\]", MISSING)


def test_a_program_that_does_not_know_the_architecture_is_passed_over(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = tmp_path / "nvdisasm"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    known = [*programs()]
    monkeypatch.setattr("mmcore_cuda.machine_code.nvdisasm.programs", lambda: iter([str(old), *known]))
    disassembly.cache_clear()
    text = disassembly(compiled(TILED).cubin)
    assert text is not None
    assert ".text.f" in text


def test_the_package_is_asked_before_an_older_toolkit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    old = tmp_path / "nvdisasm"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    package = SimpleNamespace(stem="nvdisasm", locate=lambda: Path("package/nvdisasm"))
    monkeypatch.setattr("mmcore_cuda.machine_code.nvdisasm.files", lambda name: [package])
    assert [*programs()][:2] == ["package/nvdisasm", str(old)]


def test_the_bytes_of_an_access_follow_from_its_modifiers() -> None:
    def nbytes(opcode: str) -> int:
        return Instruction(0, opcode, (), "", Line("", 0), (), False).nbytes

    opcodes = ("STL", "LDL.LU", "LDL.64", "STL.128", "LDG.E.U8", "LDS.U16")
    assert [*map(nbytes, opcodes)] == [4, 4, 8, 16, 1, 2]


@pytest.mark.parametrize("name", ["Jürgen Weiß.cu", "日本 é.cu", "ü.d/7.cu", "ü/274.cu", "a\\b.cu"])
def test_lines_have_the_true_name_of_their_file(name: str) -> None:
    module = compile_source("test.f", Path(name), TILED, ("-arch=sm_90", "--ptxas-options=-v", "-lineinfo"), ("f",))[0]
    functions = machine_code(module.cubin)
    assert functions is not None
    assert {each.line.source for each in functions["f"].instructions} == {Path(name).name}
