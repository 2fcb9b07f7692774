"""Files with several kernels: a verdict on each matrix product, and a table."""

from __future__ import annotations

import json
import shlex
from pathlib import Path

import pytest

from mmcore.cli.commandline import command_with
from mmcore.cli.notebook import answer
from mmcore.deadline import left, whole
from mmcore.errors import SeveralKernels, TimeLimit
from mmcore_cuda.cuda_source.program import read_program
from mmcore_sources.cuda_file.inference.infer import infer
from mmcore_sources.cuda_file.inference.launches import first_launch
from tests.command_line import mmcore as command
from tests.sources.test_source_file import NAIVE

pytestmark = pytest.mark.usefixtures("folder")

WRONG = NAIVE.replace("mul(", "wrong(").replace("sum;", "sum + 1;")
OPEN = NAIVE.replace("int N", "int N, int some, int other, int third").replace("mul(", "open(")
OPEN = OPEN.replace("= sum;", "= sum + 0 * (some + other + third);")
BROKEN = NAIVE.replace("mul(", "broken(").replace("sum;", "undeclared;")
PRODUCT = "A[row * N + i] * B[i * N + col]"
ROUNDED = NAIVE.replace("mul", "rounded").replace(PRODUCT, f"__fmul_rn({PRODUCT.replace(' * B', ', B')})")
FILL = "__global__ void fill(float *x, int n) { x[threadIdx.x] = n; }\n"
SECOND = NAIVE.replace("mul(", "second(")


def table(text: str) -> dict[str, str]:
    """Return the answers in the table that ends a command's output, by kernel."""
    return {line.split()[0]: " ".join(line.split()[1:]) for line in text.rstrip().rpartition("\n\n")[2].splitlines()}


@pytest.mark.parametrize(
    ("content", "status", "answers"),
    [
        (NAIVE + WRONG + FILL, 1, {"mul": "TEST PASS", "wrong": "TEST FAIL"}),
        (NAIVE + ROUNDED, 0, {"mul": "TEST PASS", "rounded": "TEST PASS"}),
        (NAIVE + SECOND, 0, {"mul": "TEST PASS", "second": "TEST PASS"}),
        (NAIVE + BROKEN, 0, {"mul": "TEST PASS", "broken": "could not run"}),
        (OPEN + BROKEN, 2, {"open": "could not run", "broken": "could not run"}),
    ],
)
def test_every_product_of_a_file_gets_a_verdict(
    content: str, status: int, answers: dict[str, str], folder: Path
) -> None:
    (folder / "my.cu").write_text(content)
    result = command(*shlex.split("run my.cu --size 32 --device emulator --no-hazards"))
    assert (result.exit_code, table(result.stdout)) == (status, answers), result.output
    assert ("skipped" in result.stderr) == ("fill" in content)
    assert ("--entry=wrong" in result.stdout or "inferred from" in result.stderr) == ("wrong" in answers)


def test_missing_semicolons_are_left_to_the_compiler(folder: Path) -> None:
    (folder / "my.cu").write_text(
        NAIVE.replace("    float sum", "    int some = N * N\n    int other = N * N\n    float sum", 1)
    )
    result = command(*shlex.split("run my.cu --size 32 --device emulator"))
    assert (result.exit_code, "my.cu does not compile" in result.stderr) == (2, True), result.output


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        ("my.cu::wrong", 1, ""),
        ("my.cu::mul", 0, ""),
        ("my.cu::mul --entry mul", 0, ""),
        ("my.cu::mul --entry wrong", 2, "the argument names mul, and --entry wrong"),
        ("my.cu::other", 2, "my.cu has no __global__ function other; it has mul, wrong"),
    ],
)
def test_a_path_with_a_function_names_one_kernel_of_a_file(words: str, status: int, message: str, folder: Path) -> None:
    (folder / "my.cu").write_text(NAIVE + WRONG)
    result = command(*shlex.split(f"run {words} --size 32 --device emulator --no-hazards --quiet"))
    assert (result.exit_code, message in result.stderr) == (status, True), result.output


def test_a_python_file_may_have_several_kernels(folder: Path) -> None:
    (folder / "my.py").write_text(f'a = r"""{NAIVE}{SECOND}"""\n')
    result = command(*shlex.split("run my.py --size 32 --device emulator --no-hazards"))
    assert table(result.stdout) == {"mul": "TEST PASS", "second": "TEST PASS"}


def test_the_results_of_several_kernels_are_a_list(folder: Path) -> None:
    (folder / "my.cu").write_text(NAIVE + OPEN)
    result = command(*shlex.split("run my.cu --size 32 --device emulator --no-hazards --json"))
    right, refused = json.loads(result.stdout)
    assert (right["kernel"], right["verified"]) == ("file.my.mul", True)
    assert (refused["entry"], refused["commands"][0].split()[:3]) == ("open", ["mmcore", "run", "my.cu"])


@pytest.mark.parametrize("name", ["check", "prove"])
def test_other_verdicts_treat_several_kernels_alike(name: str, folder: Path) -> None:
    (folder / "my.cu").write_text(NAIVE + WRONG.replace("+ 1", "+ 1e30f"))
    result = command(*shlex.split(f"{name} my.cu --size 32 --device emulator"))
    assert table(result.stdout)["mul"] == {"check": "CHECK PASS", "prove": "PROVED"}[name]
    assert result.exit_code == (name == "prove")


def test_a_command_of_one_kernel_asks_which(folder: Path) -> None:
    (folder / "my.cu").write_text(NAIVE + SECOND)
    result = command(*shlex.split("profile my.cu --size 32 --device emulator"))
    assert result.exit_code == 2
    assert "mmcore profile my.cu --size 32 --device emulator --entry second" in result.stderr


def test_a_notebook_shows_each_verdict(folder: Path) -> None:
    (folder / "my.cu").write_text(NAIVE + SECOND)
    shown = answer(shlex.split("run --size 32 --device emulator --no-hazards"), folder / "my.cu")
    assert [view.verdict for view in shown.views] == ["TEST PASS", "TEST PASS"]
    assert shown._repr_html_().count("TEST PASS</b>") == 2


@pytest.mark.parametrize(
    ("statement", "product"),
    [
        ("for (int k = 0; k < n; k++) s += a[k] * b[k];", True),
        ("for (int k = 0; k < n; k++) s = s + a[k] * b[k];", True),
        ("for (int k = 0; k < n; k++) s = fmaf(a[k], b[k], s);", True),
        ("s = tile(a, b, n);", True),
        ('asm("mma.sync;");', True),
        ("s = a[n * 2] + b[n];", False),
        ("for (int k = 0; k < n; k++) s += a[k * n];", False),
        ("s += a[n] * b[n];", False),
        ("for (int k = 0; k < n; k++) c[k] = a[k] * b[k];", False),
    ],
)
def test_a_product_is_a_sum_of_products(statement: str, product: bool) -> None:
    other = "__device__ float tile(const float *a, const float *b, int n);\n"
    other += (
        f"__global__ void f(const float *a, const float *b, float *c, int n) {{ float s = 0; {statement} *c = s; }}"
    )
    if product:
        with pytest.raises(SeveralKernels) as several:
            infer(Path("my.cu"), NAIVE + other, {})
        assert several.value.names == ("mul", "f")
    else:
        assert infer(Path("my.cu"), NAIVE + other, {}).attributes["entry"] == "mul"


def test_a_suggested_option_replaces_the_one_that_was_given() -> None:
    words = shlex.split("run my.cu --size 64 -m 3 --timeout=3 --config A=1")
    assert command_with(words, "--size 9x9x9") == "mmcore run my.cu --timeout=3 --config A=1 --size 9x9x9"
    assert command_with(words, "--timeout 4 --config B=2").endswith(
        "--size 64 -m 3 --config A=1 --timeout 4 --config B=2"
    )


def test_a_limit_holds_for_everything_in_it() -> None:
    assert left(7) == 7
    with whole(3), whole(60):
        assert (left(7), left(None), left(2)) == (3, 3, 2)
    with whole(-1), pytest.raises(TimeLimit):
        left(7)


def template(parameters: str, statement: str = "") -> str:
    """Return an overload of the naive kernel that is a template, with a statement before its sum."""
    return NAIVE.replace("__global__", f"template <{parameters}> __global__").replace(
        "float sum", statement + "float sum"
    )


def test_functions_of_one_name_get_a_verdict_each(folder: Path) -> None:
    wrong = template("int EDGE", "A += EDGE - 15; ")
    (folder / "my.cu").write_text(NAIVE + wrong + template("class T, int EDGE", "constexpr int e = EDGE / e; "))
    first, second, third = (f"mul:{NAIVE.count(chr(10)) * count + 1}" for count in range(3))
    run = "run my.cu --size 32 --device emulator --no-hazards"
    output = command(*shlex.split(run)).output
    assert table(output) == {first: "TEST PASS", second: "TEST FAIL", third: "could not run"}
    assert "must have a constant value" in output
    assert "TEST PASS" in command(*shlex.split(f"{run} --entry {first}")).output
    assert table(command(*shlex.split(f"{run} --entry mul")).output) == table(output)


@pytest.mark.parametrize(("launch", "launched"), [("mul<<<9, 64>>>", 0), ("mul<16><<<9, 64>>>", 1)])
def test_a_launch_is_that_of_the_function_whose_template_it_fits(launch: str, launched: int) -> None:
    program = read_program(f"{NAIVE}{template('int EDGE')}void run(int n) {{ {launch}(A, B, C, n); }}\n")
    launches = [first_launch(program, each) for each in program.functions]
    assert [each is not None for each in launches] == [launched == position for position in range(2)]


def test_alternatives_of_the_preprocessor_are_one_function() -> None:
    double = NAIVE.replace("float", "double")
    for text, labels in (
        (f"#ifdef DOUBLE\n{double}\n#else\n{NAIVE}\n#endif\n", ["mul"]),
        (NAIVE + NAIVE, ["mul"]),
        (f"#ifndef H\n{NAIVE}{double}#endif\n", ["mul:2", f"mul:{2 + NAIVE.count(chr(10))}"]),
    ):
        assert [each.label for each in read_program(text).functions] == labels
