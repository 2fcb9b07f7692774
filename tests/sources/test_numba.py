"""Numba kernels of Python files: compiled without a GPU and without running the file."""

from __future__ import annotations

import re
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from mmcore_sources.cuda_file.files import file_kernel
from mmcore_sources.numba.build import NumbaBuild
from tests.command_line import mmcore as command
from tests.sources.test_python_file import check_launch, check_verdict, notebook, written
from tests.tables import cases, section_of

needs_numba = pytest.mark.skipif(
    find_spec("numba") is None, reason="Numba is not installed; python -m pip install 'mmcore-cuda[numba]' brings it"
)


@needs_numba
@cases(__file__, "programs", "case")
def test_a_program_is_judged_at_its_own_lines(case: dict[str, Any]) -> None:
    check_verdict(case)


@cases(__file__, "programs", "case")
def test_launches_are_read_without_numba(case: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    check_launch(case)


def test_without_numba_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numba", None)
    result = command("run", written(section_of(__file__, "programs")["guarded_tiles"]["text"]), "--device", "emulator")
    assert result.exit_code == 2
    assert "python -m pip install 'mmcore-cuda[numba]'" in result.stderr


@needs_numba
def test_only_what_the_kernel_needs_is_run() -> None:
    program = section_of(__file__, "programs")["guarded_tiles"]["text"]
    result = command("run", written(f"import gone\n{program}\nopen('made', 'w')\nimport gone_too\n"), "--size", "9")
    assert result.exit_code == 0, result.output
    assert not Path("made").exists()


@needs_numba
def test_a_race_has_a_hint_in_numbas_words() -> None:
    program = section_of(__file__, "programs")["guarded_tiles"]["text"]
    *_, last = re.finditer(r"cuda\.syncthreads\(\)", program)
    racing = f"{program[: last.start()]}pass{program[last.end() :]}"
    result = command("check", written(racing), "--size", "33")
    assert "cuda.syncthreads() before line " in result.stdout
    assert "__syncthreads" not in result.stdout


@needs_numba
def test_config_changes_a_constant_of_the_module() -> None:
    program = section_of(__file__, "programs")["guarded_tiles"]["text"]
    options = ("--config", "TPB=4", "--size", "33", "--device", "emulator")
    result = command("run", written(program), *options)
    assert result.exit_code == 0, result.output
    assert "block            4×4" in result.stdout
    assert "shared memory    128 bytes" in result.stdout


_OPTIONS = """import argparse
parser = argparse.ArgumentParser()
parser.add_argument("-t", "--tile-width", type=int, default=8)
arguments = parser.parse_args()
TPB = arguments.tile_width"""


@pytest.mark.parametrize(
    "value",
    [
        'import os\nTPB = int(os.environ.get("TPB", "8"))',
        'from os import getenv\nTPB = int(getenv("TPB", 8))',
        "import sys\nTPB = int(sys.argv[1]) if len(sys.argv) > 1 else 8",
        "from sys import argv\nTPB = 8 if len(argv) < 2 else int(argv[1])",
        "import sys\nTPB = 8\nif len(sys.argv) > 1:\n    TPB = int(sys.argv[1])",
        _OPTIONS,
    ],
)
def test_variables_of_the_environment_and_options_have_their_literal_defaults(value: str) -> None:
    program = section_of(__file__, "programs")["guarded_tiles"]["text"].replace("TPB = 8", value)
    kernel = file_kernel({"file": written(program)}, {}).kernel
    assert str(kernel.usual_configs[0].block) == "8×8"
    assert isinstance(kernel.build, NumbaBuild)
    pytest.importorskip("numba")
    assert command("run", written(program), "--size", "33", "--device", "emulator").exit_code == 0


@needs_numba
@pytest.mark.parametrize(
    "value", ["TPB = int(cuda.get_current_device().WARP_SIZE // 4)", "TPB = int(__import__('sys').argv[1])"]
)
def test_a_value_that_a_run_computes_is_named_with_its_option(value: str) -> None:
    program = section_of(__file__, "programs")["guarded_tiles"]["text"].replace("TPB = 8", value)
    result = command("run", written(program), "--size", "33", "--device", "emulator")
    computed = "TPB of line 5 is computed when the program runs, which mmcore does not do"
    assert f"{computed}; --config TPB=16 gives a value" in result.stderr
    assert "NameError" not in result.stderr
    given = command("run", written(program), "--size", "33", "--device", "emulator", "--config", "TPB=16")
    assert given.exit_code == 0, given.output


@needs_numba
def test_an_error_of_numba_is_shown() -> None:
    program = section_of(__file__, "programs")["guarded_tiles"]["text"].replace("tmp = float32(0.)", 'tmp = "0"')
    result = command("run", written(program), "--size", "9")
    assert result.exit_code == 2
    assert "Numba does not compile fast_matmul of my.py" in result.stderr
    program = section_of(__file__, "programs")["guarded_tiles"]["text"].replace(
        "(TPB, TPB), d", "(A.shape[0], edge), d"
    )
    program = program.replace("    sA = cuda", "    edge = cuda.blockDim.x\n    sA = cuda")
    result = command("run", written(program), "--size", "9")
    assert "line 10: cuda.shared.array needs a shape of literals or constants of the module" in result.stderr


@needs_numba
def test_a_kernel_of_a_notebook_takes_imports_of_other_cells() -> None:
    program = section_of(__file__, "programs")["flat_arrays_without_a_guard"]["text"]
    imports, kernel, launch = program[: program.index("@")], program[program.index("@") : program.index("n = 64")], "1"
    result = command("run", notebook((imports, kernel, launch)), "--size", "17", "--device", "emulator")
    assert result.exit_code == 1
    assert "my.ipynb[cell 2]:8" in result.stdout


def test_the_types_of_a_launch_for_all_elements_are_read() -> None:
    Path("my.py").write_text(
        "import numpy as np\nfrom numba import cuda\n@cuda.jit\ndef mul(A, B, C):\n    at = cuda.grid(1)\n"
        "    for k in range(A.shape[1]):\n"
        "        C[at // C.shape[1], at % C.shape[1]] += A[at // C.shape[1], k] * B[k, at % C.shape[1]]\n"
        "A = np.zeros((9, 9))\nmul.forall(81)(A, A, A)\n"
    )
    assert "arrays float64 (as passed in line 9)" in file_kernel({"file": Path("my.py").absolute()}, {}).inferred


@pytest.mark.parametrize(
    ("passed", "warned"), [("y_d.T", True), ("y_t", True), ("y_d", False), ("y_c", False), ("y_d.T.copy()", False)]
)
def test_a_transposed_view_is_named_at_its_launch(passed: str, warned: bool) -> None:
    program = section_of(__file__, "programs")["guarded_tiles"]["text"].replace(
        "(x_d, y_d, z_d)", f"(x_d, {passed}, z_d)"
    )
    program = program.replace(
        "    grid = ", "    y_t = y_d.transpose()\n    y_c = np.ascontiguousarray(y_d.T)\n    grid = "
    )
    line = next(number for number, each in enumerate(program.splitlines(), 1) if "fast_matmul[" in each)
    warning = f"line {line} passes {passed}, a transposed view: the program multiplies the transposed matrix"
    warnings = file_kernel({"file": written(program)}, {}).warnings
    assert [each for each in warnings if "transposed" in each] == [warning] * warned


_TRANSPOSING = """
import math
import numpy as np
from numba import cuda, float32
T = 8
@cuda.jit
def product(A, B, C):
    a, b = cuda.shared.array((T, T), float32), cuda.shared.array((T, T), float32)
    tx, ty = cuda.threadIdx.x, cuda.threadIdx.y
    col, row = cuda.grid(2)
    along, down = cuda.blockIdx.y * T + tx, cuda.blockIdx.x * T + ty
    m, n, k = SIZES
    total = float32(0)
    for t in range(0, k, T):
        LOAD_A
        LOAD_B
        cuda.syncthreads()
        for p in range(T):
            total += a[ty, p] * b[p, tx]
        cuda.syncthreads()
    if row < m and col < n:
        STORE = total
"""
_LAUNCH = """
m, n, k = 300, 200, 100
a, b = np.ones((SHAPE_A), np.float32), np.ones((SHAPE_B), np.float32)
c = np.zeros((SHAPE_C), np.float32)
product[(math.ceil(n / T), math.ceil(m / T)), (T, T)](a, b, c)
"""


def _transposing(matrices: str, text: str) -> str:
    """Return a program whose kernel takes some matrices as transposed arrays."""
    axes = {each: int(each in matrices) for each in "ABC"}
    parts = {
        "SIZES": f"C.shape[{axes['C']}], B.shape[{1 - axes['B']}], A.shape[{1 - axes['A']}]",
        "LOAD_A": ("a[ty, tx] = A[row, t + tx] if row < m and t + tx < k else 0",
                   "a[tx, ty] = A[t + ty, along] if along < m and t + ty < k else 0")[axes["A"]],
        "LOAD_B": ("b[ty, tx] = B[t + ty, col] if t + ty < k and col < n else 0",
                   "b[tx, ty] = B[down, t + tx] if t + tx < k and down < n else 0")[axes["B"]],
        "STORE": ("C[row, col]", "C[col, row]")[axes["C"]],
        **{f"SHAPE_{each}": ", ".join(sides[:: -1 if axes[each] else 1])
           for each, sides in {"A": "mk", "B": "kn", "C": "mn"}.items()},
    }  # fmt: skip
    for word, part in parts.items():
        text = text.replace(word, part)
    return text


@pytest.mark.parametrize("launch", ["", _LAUNCH])
@pytest.mark.parametrize("matrices", ["", "A", "B", "C", "AB", "AC", "BC", "ABC"])
def test_exchanged_subscripts_are_those_of_transposed_arrays(matrices: str, launch: str) -> None:
    kernel = file_kernel({"file": written(_transposing(matrices, _TRANSPOSING + launch))}, {}).kernel
    assert isinstance(kernel.build, NumbaBuild)
    assert (kernel.build.transposed, kernel.column_major) == (frozenset(matrices), matrices)


@needs_numba
@pytest.mark.parametrize(
    ("matrices", "launch", "replaced", "options", "answer"),
    [
        ("AB", "", (), "", "TEST PASS"),
        ("BC", _LAUNCH, (), "", "TEST PASS"),
        ("B", "", (), "--column-major B", "TEST PASS"),
        ("B", "", (), "--column-major=", "TEST FAIL"),
        ("", "", (), "--column-major B", "TEST FAIL"),
        ("B", _LAUNCH, ("SHAPE_B", "k, n"), "", "TEST FAIL"),
        ("", _LAUNCH, ("SHAPE_B", "n, k"), "", "TEST FAIL"),
        ("B", _LAUNCH, ("SHAPE_B", "k, n", "(a, b, c)", "(a, b.T, c)"), "", "TEST PASS"),
        ("B", "", ("SIZES", "C.shape[0], B.shape[1], A.shape[1]"), "", "TEST FAIL"),
        ("B", "", ("SIZES", "C.shape[0], C.shape[1], A.shape[1]"), "", "TEST FAIL"),
    ],
)
def test_an_array_has_the_shape_that_program_or_subscripts_show(
    matrices: str, launch: str, replaced: tuple[str, ...], options: str, answer: str
) -> None:
    text = _TRANSPOSING + launch
    for old, new in zip(replaced[::2], replaced[1::2], strict=True):
        text = text.replace(old, new)
    size = ("--size", "41x21x35", "--device", "emulator")
    result = command("run", written(_transposing(matrices, text)), *size, *options.split())
    assert result.stdout.splitlines()[-1] == answer


_COUNTED = """
import math
import numpy as np
from numba import cuda, float32
T = 8
@cuda.jit
def product(A, B, C):
    a, b = cuda.shared.array((T, T), float32), cuda.shared.array((T, T), float32)
    row, col = cuda.grid(2)
    x, y = cuda.threadIdx.x, cuda.threadIdx.y
    blocks = cuda.gridDim.x
    total = float32(0)
    for t in range(blocks):
        a[x, y] = A[row, y + t * T] if row < A.shape[0] and y + t * T < A.shape[1] else 0
        b[x, y] = B[x + t * T, col] if x + t * T < B.shape[0] and col < B.shape[1] else 0
        cuda.syncthreads()
        for p in range(T):
            total += a[x, p] * b[p, y]
        cuda.syncthreads()
    if row < C.shape[0] and col < C.shape[1]:
        C[row, col] = total
n = 500
a, b, c = np.ones((n, n), np.float32), np.ones((n, n), np.float32), np.zeros((n, n), np.float32)
product[(math.ceil(n / T), math.ceil(n / T)), (T, T)](a, b, c)
"""


@needs_numba
@pytest.mark.parametrize(
    ("replaced", "options", "answer"),
    [
        ((), "", "TEST PASS if m = n = k"),
        ((), "--size 20x12x40", "TEST FAIL"),
        (("range(blocks)", "range((A.shape[1] + T - 1) // T)"), "", "TEST PASS"),
        (("range(blocks)", "range((A.shape[1] + T - 1) // T)"), "--size 20x12x40", "TEST PASS"),
        (("row < A.shape[0] and y + t * T < A.shape[1]", "True"), "", "TEST FAIL"),
        (
            ("np.ones((n, n), np.float32), np.ones((n, n)", "np.ones((n, 90), np.float32), np.ones((90, n)"),
            "",
            "TEST FAIL",
        ),
    ],
)
def test_a_kernel_that_counts_blocks_is_right_where_its_program_multiplies_squares(
    replaced: tuple[str, ...], options: str, answer: str
) -> None:
    text = _COUNTED
    for old, new in zip(replaced[::2], replaced[1::2], strict=True):
        text = text.replace(old, new)
    result = command("run", written(text), "--device", "emulator", *options.split())
    assert result.stdout.splitlines()[-1] == answer
