"""``mmcore run my.py``: kernels in Python files, compiled and judged without running the file."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from mmcore.errors import InvalidKernel, UnknownValue
from mmcore.plugin_table import Origin
from mmcore.registry import registry
from mmcore_sources.cuda_file.files import file_kernel
from mmcore_sources.cuda_file.inference.expressions import LaunchText
from mmcore_sources.cuda_file.package import package_files
from mmcore_sources.python_file.arrays import ArrayReader
from mmcore_sources.python_file.extraction import FunctionInFile
from mmcore_sources.python_file.program import parse_program
from mmcore_sources.python_file.scopes import Scope
from tests.command_line import mmcore as command
from tests.kernel_sources import kernel_source
from tests.tables import cases, section_of, table

pytestmark = pytest.mark.usefixtures("folder")


def written(program: str) -> str:
    """Write a program whose first line is line 1, and return its path."""
    Path("my.py").write_text(program.removeprefix("\n"))
    return "my.py"


def written_case(case: dict[str, Any]) -> str:
    """Write a program and the modules beside it, and return its path."""
    for name, text in case.get("modules", {}).items():
        Path(name).write_text(text)
    return written(case["text"])


def check_verdict(case: dict[str, Any]) -> None:
    """Require the verdict on a program, the line of a fault, and warnings."""
    result = command("run", written_case(case), "--json", "--device", "emulator")
    verdict, _, line = case["verdict"].partition(" ")
    assert result.exit_code == (verdict != "right"), result.output
    answer = json.loads(result.stdout)
    faults = {(each["kind"], str(each["line"])) for each in answer["violations"]}
    assert not line or (verdict, line) in faults, faults
    assert set(case.get("warnings", ())) <= set(answer["warnings"])


def check_launch(case: dict[str, Any]) -> None:
    """Require the block and the grid that are inferred from a program."""
    kernel = file_kernel({"file": written_case(case)}, {}).kernel
    assert isinstance(kernel.launch, LaunchText)
    assert (str(kernel.usual_configs[0].block), kernel.launch.grid) == tuple(case["launch"])


@cases(__file__, "programs", "case")
def test_a_program_of_each_library_is_judged_at_its_own_lines(case: dict[str, Any]) -> None:
    check_verdict(case)


@cases(__file__, "programs", "case")
def test_launches_in_python_are_read(case: dict[str, Any]) -> None:
    check_launch(case)


@pytest.mark.parametrize("option", ['"-DTILE=%d" % TILE', 'f"-DTILE={TILE}"', '"-DTILE=" + str(TILE)'])
def test_an_option_that_the_program_formats_defines_a_macro(option: str) -> None:
    case = section_of(__file__, "programs")["cupy_tile_as_an_option"]
    check_verdict(case | {"text": case["text"].replace('"-DTILE=8"', option)})


def notebook(cells: tuple[str, ...]) -> str:
    """Write a notebook of code cells after a cell of text, and return its path."""
    listed = [("markdown", "# Products"), *(("code", cell) for cell in cells)]
    content = [{"cell_type": kind, "metadata": {}, "source": text.splitlines(keepends=True)} for kind, text in listed]
    Path("my.ipynb").write_text(json.dumps({"cells": content, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}))
    return "my.ipynb"


_PRODUCT = """
extern "C" __global__ void mul(const float *a, const float *b, float *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int i = 0; i < n; i++) c[row * n + column] += a[row * n + i] * b[i * n + column];
}
"""


@cases(__file__, "notebooks", "case")
def test_a_notebook_is_judged_at_the_lines_of_its_cells(case: dict[str, Any]) -> None:
    result = command("run", notebook(case["cells"]), "--json", "--device", "emulator")
    verdict, _, place = case["verdict"].partition(" ")
    assert result.exit_code == (verdict != "right"), result.output
    found = {(each["kind"], f"{each['source']}:{each['line']}") for each in json.loads(result.stdout)["violations"]}
    assert not place or (verdict, place) in found, found
    assert all(note in " ".join(result.stderr.split()) for note in case["notes"]), result.stderr


def test_a_cell_includes_headers_that_other_cells_write() -> None:
    header = "%%writefile common.cuh\n#define INDEX(row, column, n) ((row) * (n) + (column))\n"
    appended = "%%file -a common.cuh\ntypedef float real;\n"
    kernel = """%%cu
#include "common.cuh"
__global__ void mul(const real *a, const real *b, real *c, int n) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= n || column > n) return;
    real sum = 0;
    for (int i = 0; i < n; i++) sum += a[INDEX(row, i, n)] * b[INDEX(i, column, n)];
    c[INDEX(row, column, n)] = sum;
}"""
    path = notebook((header, appended, kernel))
    wrong = command("run", path, "--size", "33", "--device", "emulator", "-q")
    assert "my.ipynb[cell 3]:7: thread (1, 0)" in wrong.output
    notebook((header, appended, kernel.replace("column > n", "column >= n")))
    assert command("run", path, "--size", "33", "--device", "emulator", "-q").exit_code == 0


def test_a_cell_of_cuda_may_be_timed() -> None:
    for magics in ("%%time\n%%cuda\n", "%%capture out\n%%time\n%%cu -n my.cu\n"):
        path = notebook(("n = 3", magics + _PRODUCT))
        result = command("run", path, "--size", "33", "--device", "emulator", "-q")
        line = (magics + _PRODUCT[: _PRODUCT.index("for")]).count("\n") + 1
        assert f"my.ipynb[cell 2]:{line}: thread" in result.output
        registry().files.clear()


def test_a_launch_after_the_magic_that_times_it_is_read() -> None:
    kernel = 'import cupy\nf = cupy.RawKernel("""' + _PRODUCT + '""", "mul")'
    for magic in ("%time ", "%timeit -n 10 "):
        path = notebook((kernel, f"n = 70\n{magic}f((3, 9), (32, 8), (a, b, c, n))"))
        inferred = file_kernel({"file": Path(path).absolute()}, {}).inferred
        assert "block 32×8 (as launched in cell 2, line 2)" in inferred
        registry().files.clear()


def test_an_accessor_of_pytorch_gets_the_pointer_to_pass() -> None:
    kernel = _PRODUCT.replace("const float *a", "torch::PackedTensorAccessor32<float, 2> a")
    Path("my.py").write_text(f'load_inline("x", cuda_sources="""{kernel}""")\n')
    assert "take pointers instead, such as a.data_ptr<float>()" in command("run", "my.py").output


def test_a_notebook_has_one_name_however_often_it_is_read() -> None:
    path = notebook(section_of(__file__, "notebooks")["a_cell_of_cuda"]["cells"])
    names = [registry().kernel({"file": path}).name for _ in range(2)]
    assert names == ["file.my"] * 2


def test_a_file_that_is_no_notebook_is_refused() -> None:
    Path("my.ipynb").write_text("[]")
    result = command("run", "my.ipynb")
    assert (result.exit_code, result.stderr) == (2, "Error: my.ipynb is not a notebook\n")


@cases(__file__, "refusals", "program, reason")
def test_what_keeps_a_program_from_being_judged_is_one_sentence(program: str, reason: str) -> None:
    result = command("run", written(program))
    assert (result.exit_code, result.stderr) == (2, f"Error: my.py {reason}\n")


def test_a_cu_file_that_a_program_reads_is_named() -> None:
    Path("product.cu").write_text(kernel_source("guarded"))
    result = command("run", written("import cupy\nf = cupy.RawKernel(open('product.cu').read(), 'mul')\n"))
    assert result.exit_code == 2
    assert result.stderr.endswith("; it names a file, so try mmcore run product.cu\n")


def test_another_language_is_a_plugin_with_one_hook() -> None:
    page = (Path(__file__).parents[2] / "docs/python-files.md").read_text(encoding="utf-8")
    (example,) = re.findall(r"^```python\n(?=\"\"\")(.*?)^```", page, re.MULTILINE | re.DOTALL)
    plugin = ModuleType("load")
    exec(example, vars(plugin))
    Path("product.cu").write_text(kernel_source("guarded"))
    path = written("import torch.utils.cpp_extension as e\nmodule = e.load(name='product', sources=['product.cu'])\n")
    registry().register(plugin, Origin("load", "example"))
    try:
        kernel = file_kernel({"file": path}, {}).kernel
    finally:
        registry().manager.unregister(name="example:load")
    assert kernel.source.name == "product.cu"
    assert kernel.entry == "mul"


NUMBA = "from numba import cuda\n@cuda.jit('x')\ndef f(*a, b, **c):\n  c[0, ...] = b[:, 1] @ b\nf[1](b)\nf[b, *a]()"
ODD = {
    "half a character": "k = '\\ud800 __global__ void f(float* a, float* b, float* c) {}'",
    "strings that double": "s0 = '__global__ '\n" + "".join(f"s{i + 1} = s{i} + s{i}\n" for i in range(60)),
    "names of themselves": "import cupy\nk = cupy.RawKernel(s, 'f')\ns = '__global__' + s\nn = n\nk((n,), (n,), (n,))",
    "many assignments and launches": "k = '__global__'\n" + "n = 3\n" * 2000 + "k((n,), (n,), (n,))\n" * 500,
    "odd parts of Numba": NUMBA,
    "odd parts of Triton": "import triton\n@triton.jit\ndef f(a, *b):\n  store(a, load(b))\nf[f](1)\nf[lambda: 1](a)",
}


@pytest.mark.parametrize("program", ODD.values(), ids=ODD)
def test_an_odd_program_is_refused_in_a_sentence(program: str) -> None:
    with pytest.raises(InvalidKernel):
        file_kernel({"file": written(program)}, {})


def test_a_package_gets_the_string_of_a_program_as_its_source() -> None:
    reference = {"file": written(section_of(__file__, "programs")["cupy_kernel_with_a_guard"]["text"])}
    files = package_files(reference, "acme.mine", "mine.py", "mine.cu")
    assert files["mine.cu"].startswith('extern "C" __global__')
    assert "RawKernel" not in files["mine.cu"]
    numba = "from numba import cuda\n@cuda.jit\ndef f(a, b, c):\n  i, j = cuda.grid(2)\n  c[i, j] = a[i, 0] * b[0, j]\n"
    with pytest.raises(InvalidKernel, match="is not CUDA C"):
        package_files({"file": written(numba)}, "acme.mine", "mine.py", "mine.cu")


@table(
    "dtype expression",
    """
    float64 np.random.rand(4, 4)
    float32 np.random.rand(4, 4).astype("float32") * 2
    float32 cp.asarray(np.ones((4, 4)), dtype=cp.float32)
    float16 torch.randn(4, 4, dtype=torch.half).cuda()
    float8_e5m2 torch.randn(4, 4).to(torch.float8_e5m2)
    float32 torch.zeros_like(torch.rand(4, 4))
    float64 (np.zeros((4, 4)) @ np.eye(4)).copy()
    float32 gpuarray.to_gpu(np.empty((4, 4), np.float32))
    float64 np.full((4, 4), 1.5)
    unknown np.full((4, 4), 1)
    unknown np.zeros((4, 4), dtype=kind)
    unknown load("a.npy")
    """,
)
def test_the_types_of_arrays_are_read_as_far_as_literals_show_them(dtype: str, expression: str) -> None:
    imports = "import numpy as np, cupy as cp, torch\nfrom pycuda import gpuarray\n"
    program = parse_program(Path("my.py"), f"{imports}array = {expression}\n")
    array = ArrayReader(program).read(ast.Name("array"), Scope(), 9)
    assert (array.dtype or "unknown") == dtype


def test_constants_see_the_programs_name_alone_on_the_command_line() -> None:
    text = "import sys\nwords = sys.argv\ndef kernel():\n    return words\n"
    assert FunctionInFile(Path("my.py"), text, "kernel").load(())() == ["my.py"]


def test_names_of_modules_beside_a_file_are_read_and_the_rest_of_them_is_not_run() -> None:
    Path("pkg").mkdir()
    Path("pkg/sizes.py").write_text("TILE: int = 16\nopen('made', 'w')\n")
    Path("helper.py").write_text("import gone\nfrom pkg.sizes import *\ndef edge(x):\n    return x * TILE\n")
    imports = "from .helper import edge as first\nimport helper\nimport pkg.sizes\nfrom pkg import sizes as s\n"
    text = f"{imports}def kernel():\n    return first(1), helper.edge(2), pkg.sizes.TILE, s.TILE\n"
    assert FunctionInFile(Path("my.py"), text, "kernel").load(())() == (16, 32, 16, 16)
    assert FunctionInFile(Path("my.py"), text, "kernel").load((), {"TILE": 4})() == (4, 8, 4, 4)
    assert not Path("made").exists()


@pytest.mark.parametrize(
    ("imported", "reason"),
    [
        ("from helper import f", "f of line 2 of helper.py is computed when the program runs"),
        ("from helper import g", "n of line 1 of helper.py is computed when the program runs"),
        ("from helper import h", "helper.py has no constant and no function h"),
        ("from gone import f", "line 1 of my.py imports gone, .*; put gone.py beside the file, or install the package"),
        ("from .gone import f", "line 1 of my.py imports gone, which is not found; put gone.py beside the file$"),
    ],
)
def test_what_a_module_beside_a_file_computes_is_refused_in_a_sentence(imported: str, reason: str) -> None:
    Path("helper.py").write_text("n = open('n').read()\nf = make(n)\ndef g(x):\n    return x * n\n")
    name = imported.split()[-1]
    with pytest.raises(UnknownValue, match=reason):
        FunctionInFile(Path("my.py"), f"{imported}\ndef kernel():\n    return {name}\n", "kernel").load(())
