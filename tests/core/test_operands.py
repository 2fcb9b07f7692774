"""Options of a kernel: layouts, factors, types, a C of zeros, structures, bytes and filled workspaces."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

import mmcore
from mmcore import Config, Kernel, Launch, Problem, Scalar, Struct, TensorMap, Workspace, ceil_div
from mmcore.cell import Cell, brief_timings
from mmcore.cli import main
from mmcore.devices.base import Device
from mmcore.errors import InvalidKernel, InvalidProblem, MmcoreError
from mmcore.kernel.problem import dtype_named
from mmcore.measure import measure
from mmcore.registry import registry
from mmcore.result import Result
from mmcore.verify.mixed_inputs import draw_wide
from tests.fuzzing.subjects import subjects
from tests.kernel_sources import kernel_source
from tests.narrowing import narrow, wide
from tests.tables import table

LAYOUTS = ("", "A", "B", "C", "AB", "AC", "BC", "ABC")
M, N, K = 19, 23, 33
SIZES: dict[str, Any] = {"m": M, "n": N, "k": K}
LEADING = {"lda": 37, "ldb": 40, "ldc": 29}

STRIDED = "const float* A, const float* B, float* C, int m, int n, int k, int lda, int ldb, int ldc"
BY_ROWS = {"A": "row * lda + p", "B": "p * ldb + column", "C": "row * ldc + column"}
BY_COLUMNS = {"A": "p * lda + row", "B": "column * ldb + p", "C": "column * ldc + row"}


def own(
    path: Path, *, read: str = "", parameters: str = STRIDED, result: str = "sum", type: str = "float", **declared: Any
) -> Kernel:
    """Return a kernel with one thread per element, which accesses the matrices in ``read`` by columns."""
    places = {f"INDEX_OF_{name}": (BY_COLUMNS if name in read else BY_ROWS)[name] for name in "ABC"}
    path.write_text(kernel_source("template_of_a_product", PARAMETERS=parameters, RESULT=result, TYPE=type, **places))
    return Kernel(**{"name": "tests.own", "source": path, "configs": [{"block": (16, 8)}], **declared})


def measured(kernel: Kernel, device: Device, **further: Any) -> Result:
    return measure(Cell(kernel.name, **{**SIZES, "seed": 3, **further}), device, kernel)


# Layouts.


@pytest.mark.parametrize("leading", [{}, LEADING], ids=["packed", "strided"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_matrices_are_stored_as_declared(device: Device, cu_file: Path, layout: str, leading: dict[str, int]) -> None:
    kernel = own(cu_file, read=layout, column_major=layout)
    result = measured(kernel, device, **leading)
    assert result.verified, result.failures()
    assert result.to_json()["column_major"] == layout


@pytest.mark.parametrize("matrix", "ABC")
def test_a_kernel_that_takes_rows_for_columns_is_wrong(device: Device, cu_file: Path, matrix: str) -> None:
    square: dict[str, Any] = {"m": 20, "n": 20, "k": 20}
    assert not measured(own(cu_file, read=matrix), device, **square).verified
    assert not measured(own(cu_file, column_major=matrix), device, **square).verified


def test_a_gap_between_the_columns_of_c_must_not_be_written(device: Device, cu_file: Path) -> None:
    result = "sum; if (row == m - 1 && column == 2) C[column * ldc + m + 1] = 1"
    kernel = own(cu_file, read="C", column_major="C", result=result)
    [violation] = measured(kernel, device, **LEADING).violations
    assert violation.message == "column 2, row 20 of C, which lies between its columns, was written"


def test_a_leading_dimension_is_a_columns_length_at_least(device: Device, cu_file: Path) -> None:
    kernel = own(cu_file, read="A", column_major="A")
    with pytest.raises(InvalidProblem, match="lda = 18 is shorter than a column of 19 elements"):
        measured(kernel, device, lda=18)
    wrong = own(cu_file, read="A", column_major="A", result="sum + 0 * lda")
    cu_file.write_text(cu_file.read_text().replace("p * lda + row", "p * m + row"))
    assert measured(wrong, device).verified
    assert not measured(wrong, device, lda=20).verified


def random(shape: tuple[int, int]) -> NDArray[np.float32]:
    return np.random.default_rng(1).uniform(-1, 1, shape).astype(np.float32)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_matmul_takes_any_arrays_and_lays_them_out_for_the_kernel(cu_file: Path, layout: str) -> None:
    kernel = own(cu_file, read=layout, column_major=layout)
    a, b = random((M, K)), np.asfortranarray(random((K, N)))
    c = mmcore.matmul(a, b, kernel=kernel, device="emulator")
    assert c.shape == (M, N)
    assert np.abs(c - a @ b).max() < 1e-4
    out = np.full((N, 2 * M), 7, np.float32).T[::2]
    assert mmcore.matmul(a, b, out, kernel=kernel, device="emulator") is out
    assert np.array_equal(out, c)


def test_matmul_adds_to_a_c_by_columns(cu_file: Path) -> None:
    parameters = f"{STRIDED}, float alpha, float beta"
    result = "alpha * sum + beta * C[column * ldc + row]"
    kernel = own(cu_file, read="C", parameters=parameters, result=result, column_major="C", alpha=0.5, beta=-2)
    a, b, c = random((M, K)), random((K, N)), random((M, N))
    expected = 0.5 * (a @ b) - 2 * c
    assert np.abs(mmcore.matmul(a, b, c, kernel=kernel, device="emulator") - expected).max() < 1e-4


# Factors.

FACTORS = f"{STRIDED}, float alpha, float beta"
SCALED = "alpha * sum + beta * C[row * ldc + column]"


@pytest.mark.parametrize(("alpha", "beta"), [(0.5, 0.25), (0.3, -1.5), (-8, 1), (2.0**-20, 1e-9), (1e4, 1e-3)])
def test_factors_are_arguments(device: Device, cu_file: Path, alpha: float, beta: float) -> None:
    kernel = own(cu_file, parameters=FACTORS, result=SCALED, alpha=alpha, beta=beta)
    result = measured(kernel, device)
    assert result.verified, result.failures()
    assert (result.alpha, result.beta) == (alpha, beta)
    double = FACTORS.replace("float alpha, float beta", "double alpha, double beta")
    assert measured(own(cu_file, parameters=double, result=SCALED, alpha=alpha, beta=beta), device).verified
    alone = own(cu_file, parameters=f"{STRIDED}, float alpha", result="alpha * sum", alpha=alpha)
    assert measured(alone, device).verified


@pytest.mark.parametrize(
    "result",
    [
        *("0.5001f * sum + beta * OLD", "alpha * (sum + beta * OLD)", "alpha * sum", "sum + beta * OLD"),
        *("alpha * sum + OLD", "alpha * sum - beta * OLD"),
    ],
)
def test_wrong_factors(device: Device, cu_file: Path, result: str) -> None:
    result = result.replace("OLD", "C[row * ldc + column]")
    kernel = own(cu_file, parameters=FACTORS, result=result, alpha=0.5, beta=-0.25)
    assert not measured(kernel, device).verified


def test_where_beta_is_0_old_values_must_not_be_read(device: Device, cu_file: Path) -> None:
    kernel = own(cu_file, parameters=FACTORS, result=SCALED)
    assert not measured(kernel, device).verified  # 0·NaN
    assert measured(own(cu_file, parameters=FACTORS, result=SCALED, initial_c="zeros"), device).verified


# Types. Those of tests/fuzzing/strided.cu are each right in all layouts, and wrong where they are declared otherwise.

TYPED = [name for name in subjects() if name.startswith("tests.")]


@pytest.mark.parametrize("name", TYPED)
def test_a_kernel_of_each_type_is_verified(device: Device, name: str) -> None:
    result = measured(subjects()[name].kernel, device, **LEADING)
    assert result.verified, result.failures()


@pytest.mark.parametrize(
    ("name", "declared"), [("tests.e4m3", "float8_e5m2"), ("tests.e5m2", "float8_e4m3fn"), ("tests.f16", "bfloat16")]
)
def test_a_type_taken_for_another_of_its_size_is_wrong(device: Device, name: str, declared: str) -> None:
    kernel = subjects()[name].kernel
    changed = {each: getattr(kernel, each) for each in vars(kernel) if each in Kernel.__dataclass_fields__}
    assert not measured(Kernel(**changed | {"dtype": declared}), device).verified


@pytest.mark.parametrize(
    ("type", "result", "k", "verified"),
    [
        ("int", "sum", 1100, True),
        ("int", "min(max(sum, -32768), 32767)", 200, False),
        ("int", "(short)sum", 200, False),
        ("float", "(int)(sum + 0.4f)", 1100, False),  # the largest sums have more bits than float32
    ],
)
@pytest.mark.parametrize(("dtype", "element"), [("int8", "signed char"), ("uint8", "unsigned char"), ("int32", "int")])
def test_sums_of_integers_match(
    device: Device, cu_file: Path, dtype: str, element: str, type: str, result: str, k: int, verified: bool
) -> None:
    parameters = STRIDED.replace("const float*", f"const {element}*").replace(" float*", " int*")
    kernel = own(cu_file, parameters=parameters, type=type, result=result, dtype=dtype)
    assert measured(kernel, device, k=k).verified == verified


# A C of zeros.


def by_atomics(path: Path, **declared: Any) -> Kernel:
    def grid(problem: Problem, config: Config) -> tuple[int, int, int]:
        return ceil_div(problem.n, 16), ceil_div(problem.m, 8), 4

    kernel = own(path, grid=grid, **declared)
    text = path.read_text().replace("int p = 0; p < k; ++p", "int p = blockIdx.z; p < k; p += 4")
    path.write_text(text.replace("C[row * ldc + column] = sum;", "atomicAdd(&C[row * ldc + column], sum);"))
    return kernel


@pytest.mark.parametrize("leading", [{}, LEADING], ids=["packed", "strided"])
def test_parts_of_k_are_added_to_zeros_atomically(device: Device, cu_file: Path, leading: dict[str, int]) -> None:
    assert not measured(by_atomics(cu_file), device, **leading).verified
    result = measured(by_atomics(cu_file, initial_c="zeros"), device, **leading)
    assert result.verified, result.failures()
    c = mmcore.matmul(random((M, K)), random((K, N)), kernel=by_atomics(cu_file, initial_c="zeros"), device="emulator")
    assert np.abs(c - random((M, K)) @ random((K, N))).max() < 1e-4


# Structures, bytes and workspaces.

STRUCT = kernel_source("struct_of_arguments")


def test_a_structure_has_its_members_where_the_compiler_looks_for_them(device: Device, cu_file: Path) -> None:
    cu_file.write_text(STRUCT)
    flags = [Scalar(each, "uint8") for each in (7, 8, 9)]
    members: tuple[Any, ...] = (
        *(Scalar(5, "int8"), "A", "m", Scalar("alpha", "float64"), Scalar("n", "int16"), "B", *flags, "k"),
        *("C", Scalar(3, "int8")),
    )
    declared: dict[str, Any] = {"name": "tests.own", "source": cu_file, "configs": [{"block": (16, 8)}]}
    kernel = Kernel(**declared, arguments=(Struct(members), Scalar(3, "int8")), alpha=0.25)
    assert measured(kernel, device).verified
    short = Kernel(**declared, arguments=(Struct(members[:-2]), Scalar(3, "int8")), alpha=0.25)
    with pytest.raises(
        InvalidKernel, match=r"takes 2 parameters \(72, 1 bytes\), but .* with 2 parameters \(56, 1 bytes\)"
    ):
        measured(short, device)


TILES = ceil_div(M, 8) * ceil_div(N, 8)
SHUFFLED = np.random.default_rng(1).permutation(TILES).astype(np.int32)
COUNTER = "__shared__ int next; if (threadIdx.x + threadIdx.y == 0) next = atomicAdd(counter, 1); __syncthreads();"


def ordered(path: Path, parameter: str, begin: str, argument: Any) -> Kernel:
    path.write_text(kernel_source("tiles_in_some_order", TILES=TILES, PARAMETER=parameter, BEGIN=begin))
    arguments = ("A", "B", "C", "m", "n", "k", argument)
    grid: Callable[..., Any] = lambda problem, config: (TILES,)  # noqa: E731
    return Kernel(
        name="tests.own", source=path, configs=[{"block": (8, 8)}], grid=grid, arguments=arguments, entry="own"
    )


@pytest.mark.parametrize(
    ("parameter", "begin", "argument"),
    [
        ("const int* order", "const int tile = order[blockIdx.x];", Workspace("order", content=SHUFFLED)),  # type: ignore[arg-type]
        ("Order order", "const int tile = order.tiles[blockIdx.x];", SHUFFLED.tobytes()),
        ("const int* order", "const int tile = order[blockIdx.x];", Workspace("order", 400, SHUFFLED.tobytes())),
    ],
    ids=["workspace", "bytes", "larger workspace"],
)
def test_an_order_of_tiles_is_given(device: Device, cu_file: Path, parameter: str, begin: str, argument: Any) -> None:
    assert measured(ordered(cu_file, parameter, begin, argument), device).verified


def test_a_workspace_is_filled_once_and_keeps_its_counter(device: Device, cu_file: Path) -> None:
    """So that a kernel must reset what it counts: the second product of one that does not is missing."""
    counter = Workspace("counter", content=bytes(4))
    forgets = ordered(cu_file, "int* counter", f"{COUNTER} const int tile = next;", counter)
    assert measured(forgets, device).verified
    timings = brief_timings("pageable")[:1]
    assert not measured(forgets, device, timings=timings).verified
    resets = ordered(cu_file, "int* counter", f"{COUNTER} const int tile = next % {TILES};", counter)
    assert measured(resets, device, timings=timings).verified


PACKED = kernel_source("tensor_map_of_a_copy")


def packed(path: Path, nbytes: int, *, name: str = "packed") -> Kernel:
    """Return a kernel that copies A to rows of a multiple of 8 floats and reads each float as two float16 by TMA."""
    path.write_text(PACKED)

    def launch(problem: Problem, config: Config, device: object) -> list[Launch]:
        width = 8 * ceil_div(problem.k, 8)
        copy = ("A", Workspace("packed", nbytes), "m", "k", Scalar(width))
        map = TensorMap(name, (8, 16), extents=(problem.m, 2 * width), strides=(2 * width, 1), dtype="float16")
        grid = ceil_div(problem.n, 8), ceil_div(problem.m, 8)
        return [
            Launch((ceil_div(width, 32), problem.m), (32,), entry="pack", arguments=copy),
            Launch(grid, config.block, entry="own", arguments=(map, "B", "C", "m", "n", "k")),
        ]

    return Kernel(
        name="tests.own", source=path, configs=[{"block": (8, 8)}], launch=launch, min_compute_capability=(9, 0)
    )


def test_a_tensor_map_is_over_a_workspace_and_has_a_type_of_its_own(device: Device, cu_file: Path) -> None:
    assert measured(packed(cu_file, M * 8 * ceil_div(K, 8) * 4), device).verified


@pytest.mark.parametrize(
    ("kernel", "said"),
    [({"nbytes": 400}, "workspace 'packed' has 400"), ({"name": "lost"}, "no launch has a workspace 'lost'")],
)
def test_a_tensor_map_over_too_much_is_refused(
    device: Device, cu_file: Path, kernel: dict[str, Any], said: str
) -> None:
    nbytes = M * 8 * ceil_div(K, 8) * 4
    with pytest.raises(InvalidKernel, match=f"^tests.own: a tensor map is over {nbytes} bytes, but {said}$"):
        measured(packed(cu_file, **{"nbytes": nbytes, **kernel}), device)


# Output.


@pytest.fixture
def shown(cu_file: Path, monkeypatch: pytest.MonkeyPatch) -> Kernel:
    """Register a kernel of C = 0.5·A·B + 2·C with B and C by columns, and return it."""
    result = "alpha * sum + beta * C[column * ldc + row]"
    kernel = own(
        cu_file, read="BC", parameters=FACTORS, result=result, column_major="CB", alpha=0.5, beta=2, title="for showing"
    )
    there = registry().kernels
    one = next(iter(there.values()))
    monkeypatch.setitem(there, kernel.name, one._replace(item=kernel))
    return kernel


def printed(*arguments: str) -> str:
    return CliRunner().invoke(main, arguments).output


def test_commands_say_operation_types_and_layout(shown: Kernel) -> None:
    run = printed("run", "tests.own", *("-m", "19", "-n", "23", "-k", "33"), "--device", "emulator", "--ldc", "24")
    said = "C=0.5AB+2C, m×n×k = 19×23×33, float32 with B and C by columns; lda, ldb, ldc = 33, 33, 24, as they lie"
    assert said in run
    assert run.endswith("TEST PASS\n")
    assert "C=0.5AB+2C f32 with B and C by columns" in printed("list-kernels", "tests")
    assert "by columns" in printed("show", "tests.own")
    measured = json.loads(printed("run", "tests.own", "--size", "20", "--device", "emulator", "--json"))
    for document in (
        json.loads(printed("show", "tests.own", "--json")),
        measured,
        Result.from_json(measured).to_json(),
    ):
        assert (document["column_major"], document["alpha"], document["beta"]) == ("BC", 0.5, 2)
        assert document["operation"] == "C=0.5AB+2C"
    older = {name: value for name, value in measured.items() if name not in ("column_major", "alpha", "beta")}
    assert Result.from_json(older).column_major == ""


@table(
    "dtype accumulator output said",
    """
    float8_e4m3fn float22 bfloat16 float8_e4m3fn→bfloat16 summed in float22
    float16 float16 float16 float16 summed in float16; float16 float32 float16 float16
    int8 int32 int32 int8→int32; tf32 float32 float32 tf32→float32""",
)
def test_a_narrow_sum_is_named(cu_file: Path, dtype: str, accumulator: str, output: str, said: str) -> None:
    assert own(cu_file, dtype=dtype, accumulator=accumulator, output=output).types == said


# Inputs of all exponents.

# Of A and B, the accumulator, and C.
WIDE_TYPES = """
float32 float32 float32; float64 float64 float64; float16 float32 float32; float16 float16 float16
bfloat16 float32 bfloat16; tf32 float32 float32; float8_e4m3fn float22 float32; float8_e4m3fn float32 float8_e4m3fn
float8_e5m2 float22 bfloat16; int8 int32 int32; uint8 int32 int32; int32 int32 int32"""


@pytest.mark.parametrize("k", [1, 40, 3000])
@table("dtype accumulator output", WIDE_TYPES)
def test_wide_inputs_neither_overflow_nor_vanish(dtype: str, accumulator: str, output: str, k: int) -> None:
    for alpha in (1.0, 0.3, 100.0) if "int" not in dtype else (1.0,):
        problem = Problem(20, 30, k, dtype, output, alpha=alpha)
        matrices = draw_wide(problem, accumulator, 5)
        a, b = wide(matrices.a, dtype), wide(matrices.b, dtype)
        assert np.isfinite(a).all()
        assert np.isfinite(b).all()
        assert np.isfinite(wide(narrow(alpha * (np.abs(a) @ np.abs(b)), output), output)).all()
        least = 2.0 ** dtype_named(accumulator.replace("float22", "float32")).exponents[0]
        assert "int" in dtype or np.abs(a).min() * np.abs(b).min() >= least


HALVES = kernel_source("float32_in_halves")


def test_wide_inputs_are_asked_for(device: Device, cu_file: Path, shown: Kernel) -> None:
    right = own(cu_file)
    result = measured(right, device, inputs="wide")
    assert result.verified, result.failures()
    assert Result.from_json(result.to_json()).cell.inputs == "wide"
    halves = own(cu_file)
    text = cu_file.read_text().replace(
        "A[row * lda + p] * B[p * ldb + column]", "multiplied(A[row * lda + p], B[p * ldb + column])"
    )
    cu_file.write_text(HALVES + text)
    assert not measured(halves, device, inputs="wide").verified
    said = printed("run", "upc.kernel01", "--size", "32", "--device", "emulator", "--inputs", "wide")
    assert "numbers of all exponents" in said
    assert said.endswith("TEST PASS\n")
    with pytest.raises(MmcoreError, match="inputs are usual or wide, not 'narrow'"):
        measured(right, device, inputs="narrow")
