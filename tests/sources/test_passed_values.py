"""Values that reach a launch through the host's functions, templates, structures and conditions."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import Result

from mmcore import InvalidKernel, Scalar, Workspace
from mmcore.errors import LacksOption
from mmcore_cuda.cuda_source.project_folders import folders_of_headers
from mmcore_sources.cuda_file.inference.whole_tiles import tiles, whole
from mmcore_sources.cuda_file.project.header_folders import header_folders
from tests.command_line import mmcore as command
from tests.sources.test_source_file import block_and_grid, grid, guesses, inferred, kernel, launch_text


def emulated(line: str) -> Result:
    return command(*line.split(), "--device", "emulator")


TILED = """
template <typename T, int BM, // rows of a block
          int BN /* columns */, bool CHECK = false>
__global__ void mul(const T *A, const T *B, T *C, int m, int n, int k)
{
    int i = blockIdx.y * BM + threadIdx.y, j = blockIdx.x * BN + threadIdx.x;
    T sum = 0;
    for (int p = 0; p < k; p++)
        sum += A[i * k + p] * B[p * n + j];
    if (!CHECK || (i < m && j < n))
        C[i * n + j] = sum;
}
"""
LAUNCH = "mul<float, {}><<<dim3(n / {}, (m + {} - 1) / {}), dim3({}, {})>>>(a, b, c, m, n, k);"
PARAMETERS = "float *a, float *b, float *c, int m, int n, int k"


def launched(rows: str, columns: str, more: str = "") -> str:
    return LAUNCH.format(", ".join(filter(None, (rows, columns, more))), columns, rows, rows, columns, rows)


@pytest.mark.parametrize("used", ["lib::mul", "lib::tuned::mul"])
def test_an_instance_in_a_namespace_is_launched_by_its_qualified_name(used: str) -> None:
    opened = "".join(f"namespace {name} {{ " for name in used.split("::")[:-1])
    text = f"{opened}{TILED}{'}' * opened.count('{')}\nvoid go({PARAMETERS}) {{ {launched('8', '16', 'true')} }}"
    found = kernel(text.replace("mul<float", f"{used}<float"))
    (config,) = found.usual_configs
    assert (config["BM"], config["BN"], config["CHECK"], config.block) == (8, 16, 1, (16, 8, 1))


@pytest.mark.parametrize(
    "program",
    [
        f"void go({PARAMETERS}) {{ {launched('8 /* rows */', '16', 'true')} }}".replace("8 /* rows */ ", "8 "),
        f"void go({PARAMETERS}) {{ constexpr unsigned ROWS{{8U}}; const int w = 16; {launched('ROWS', 'w', 'true')} }}",
        f"enum {{ ROWS = 8 }};\n#define W (ROWS * 2)\nvoid go({PARAMETERS}) {{ {launched('ROWS', 'W', 'true')} }}",
        f"struct S {{ static constexpr int R = 8; }};\nvoid go({PARAMETERS}) {{ {launched('S::R', '16', 'true')} }}",
        f"template <int R, int W = 16> void go({PARAMETERS}) {{ {launched('R', 'W', 'true')} }}\n"
        f"template void go<8>({PARAMETERS});",
        f"void go({PARAMETERS}, int w) {{ {launched('8', 'w', 'true')} }}\nint main() {{ go(x, y, z, 9, 9, 9, 16); }}",
        f"int width(int r) {{ int w = 2 * r; return w; }}\n"
        f"void go({PARAMETERS}) {{ {launched('8', 'width(8)', 'true')} }}",
        f"void go({PARAMETERS}) {{ const int w = sizeof(float) == 4 ? 16 : 32; {launched('8', 'w', 'true')} }}",
        f"void go({PARAMETERS}, int w) {{ if (w == 16) {{ {launched('8', 'w', 'true')} }} else {launched('4', 'w')} }}"
        "\nint main() { go(x, y, z, 9, 9, 9, 16); }",
        f"void go(void (*f)(T *), dim3 grid, dim3 block, {PARAMETERS}) {{ f<<<grid, block>>>(a, b, c, m, n, k); }}\n"
        "int main() { { void (*g)(T *, int) = other; go(g, dim3(9), dim3(9), x, y, z, 9, 9, 9); }\n"
        "void (*g)(T *, int) = mul<float, 8, 16, true>;\ngo(g, dim3(1, 2), dim3(16, 8), x, y, z, 9, 9, 9); }",
    ],
)
def test_a_template_is_launched_with_values_of_the_host(program: str) -> None:
    found = kernel(TILED + program)
    (config,) = found.usual_configs
    assert (config["BM"], config["BN"], config["CHECK"], config.block) == (8, 16, 1, (16, 8, 1))
    assert found.dtype == "float32"


def test_the_launch_of_a_template_takes_the_macro_that_the_user_gives() -> None:
    program = (
        f"#ifndef EDGE\n#define EDGE 8\n#endif\nvoid go({PARAMETERS}) {{ {launched('EDGE', '2 * EDGE', 'true')} }}"
    )
    (config,) = kernel(TILED + program, parameters={"EDGE": 4}).usual_configs
    assert (config["BM"], config["BN"], config.block) == (4, 8, (8, 4, 1))


def test_a_type_and_a_dim3_may_be_passed_too() -> None:
    text = TILED + (
        f"template <typename U> void run({PARAMETERS.replace('float', 'U')}, dim3 t) {{"
        " mul<U, 8, 16><<<dim3(n / 16, m / 8), t>>>(a, b, c, m, n, k); }\n"
        "void main2(double *x, int s) { run<double>(x, x, x, s, s, s, dim3(16, 8)); }"
    )
    assert (kernel(text).dtype, *block_and_grid(kernel(text))) == (
        "float64",
        "b16x8-BM8-BN16-CHECK0",
        "n // 16, m // 8",
    )


@pytest.mark.parametrize(
    ("word", "numpy"), [("float", "float32"), ("double", "float64"), ("int", "int32"), ("__half", "float16")]
)
def test_factors_are_known_by_their_names_and_other_numbers_are_guessed(word: str, numpy: str) -> None:
    text = TILED.replace("int k)", f"int k, {word} alpha, {word} Beta_)").replace("= sum;", "= sum + C[i * n + j];")
    arguments = kernel(text, parameters={"BM": 8, "BN": 8}).arguments
    assert arguments[-2:] == (Scalar("alpha", numpy), Scalar("beta", numpy))
    text = TILED.replace("int k)", "int k, int row_offset, float scale, float zero_point)")
    found = inferred(text, parameters={"BM": 8, "BN": 8})
    values = [each.value for each in found.attributes["arguments"][-3:]]
    assert values == [0, "alpha", 1]
    assert "arguments" in [note.what for note in found.notes if note.guessed]


def test_a_fourth_pointer_is_the_new_c() -> None:
    text = TILED.replace("T *C", "const T *C, T *D").replace("C[i * n + j] = sum", "D[i * n + j] = sum + C[i * n + j]")
    found = kernel(text, parameters={"BM": 8, "BN": 8})
    assert (found.arguments[:4], found.beta) == (("A", "B", "C", "C"), 1.0)


def test_a_type_parameter_may_be_the_type_of_a_factor() -> None:
    arguments = kernel(TILED.replace("int k)", "int k, T alpha)"), parameters={"BM": 8, "BN": 8}).arguments
    assert arguments[-1] == Scalar("alpha", "float32")


@pytest.mark.parametrize(
    "store",
    [
        "a[i * n + j] = sum;",
        "AT(a, i, j) = sum;",
        "float *out; out = a + i * n; out[j] = sum;",
        "float *out = &a[i * n + j]; *out = sum;",
        "auto out = &a[i * n + j]; *out = sum;",
        "auto row = a + i * n; row[j] = sum;",
    ],
)
def test_stores_decide_against_names(store: str) -> None:
    """The matrix that is stored is C, through a macro or an alias too."""
    text = TILED.replace("const T *A, const T *B, T *C", "float *a, float *b, float *c").replace(
        "C[i * n + j] = sum;", f"{{ {store} }}"
    )
    text = "#define AT(x, i, j) x[(i) * n + (j)]\n" + text.replace("A[", "b[").replace("B[", "c[")
    assert kernel(text, parameters={"BM": 8, "BN": 8}, block="8x8").arguments[:3] == ("C", "A", "B")


@pytest.mark.parametrize(
    ("index", "block"),
    [
        ("OFFSET(blockIdx.y * 64 + threadIdx.y * 4 + t, blockIdx.x * 32 + threadIdx.x, n)", "b32x16"),
        ("OFFSET(blockIdx.y * R + threadIdx.y * T, blockIdx.x * R + threadIdx.x * T + t, n)", "b8"),
        ("OFFSET(blockIdx.y * 16 + threadIdx.y, blockIdx.x * 16 + threadIdx.x, n)", "b16"),
    ],
)
def test_macros_of_indexes_and_the_elements_of_a_thread_imply_the_block(index: str, block: str) -> None:
    text = f"""
        #define OFFSET(row, col, ld) ((row) * (ld) + (col))
        __global__ void f(const float *A, const float *B, float *C, int m, int n, int k)
        {{
            const int R = 64, T = 8;
            for (int t = 0; t < 4; t++)
                C[{index}] = A[OFFSET(blockIdx.y, t, k)] * B[OFFSET(t, blockIdx.x, n)];
        }}"""
    assert block_and_grid(kernel(text))[0] == block


def test_a_refusal_ends_with_whole_commands(folder: Path) -> None:
    two = TILED[TILED.index("__global__") :].replace("T ", "float ").replace("BM", "16").replace("BN", "16")
    two = two.replace("!CHECK || ", "")
    (folder / "two.cu").write_text(two + two.replace("mul(", "mul2("))
    result = emulated("profile two.cu --size 32")
    assert result.exit_code == 2
    lines = result.stderr.splitlines()
    wanted = [f"  mmcore profile two.cu --size 32 --device emulator --entry {name}" for name in ("mul", "mul2")]
    assert lines[-2:] == wanted
    assert command(*lines[-1].split()[1:]).exit_code == 0
    (folder / "two.cu").write_text(two + TILED.replace("mul(", "mul2("))
    *_, first, second = emulated("profile two.cu --size 32").stderr.splitlines()
    assert [first.partition("--entry ")[2], second.partition("--entry ")[2]] == ["mul", "mul2"]
    assert command(*second.split()[1:]).exit_code == 0
    (folder / "tiled.cu").write_text(TILED)
    result = emulated("run tiled.cu --size 64")
    assert result.exit_code == 0, result.output
    assert "guess" in result.stderr


@pytest.mark.parametrize(
    ("parameters", "store", "words"),
    [
        ("float *A, float *B, const float *bias, float *C", "C[0] = sum + bias[1];", "A,B,0,C,m,n,k"),
        ("float *x, const float *bias, float *y, float *z", "z[0] = x[0] + y[0] + bias[0];", "A,0,B,C,m,n,k"),
        ("float *z, float *x, float *y, int *count, float *s", "z[0] = s[0];", "C,A,B,0,0,m,n,k"),
    ],
)
def test_pointers_beyond_three_get_zeros_as_a_guess(parameters: str, store: str, words: str) -> None:
    text = f"__global__ void f({parameters}, int m, int n, int k) {{ float sum = 0; {store} }}"
    found = kernel(text).arguments
    assert found == kernel(text, args=words.split(",")).arguments
    others = [each for each in found if isinstance(each, Workspace)]
    assert len(others) == words.count("0")
    assert not any(any(each.content) for each in others)
    assert "arguments" in guesses(text)


def test_a_refusal_of_an_unclear_size_passes_zeros_for_a_fourth_pointer() -> None:
    parameters = "float *A, float *B, const float *bias, float *C, int m, int n, int k, int q, int r"
    text = f"__global__ void f({parameters}) {{ C[q * r] = A[0] * B[0] + bias[1]; }}"
    with pytest.raises(LacksOption) as refused:
        kernel(text)
    assert refused.value.options == ("--args A,B,0,C,m,n,k,1,1",)


def test_folders_of_the_user_and_of_the_machine_are_no_project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home/include").mkdir(parents=True)
    (tmp_path / "home/mine").mkdir()
    folders = folders_of_headers(tmp_path / "home/mine/my.cu")
    assert tmp_path / "home/include" in folders
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert list(folders_of_headers(tmp_path / "home/mine/my.cu")) == [tmp_path / "home/mine"]


def test_a_number_that_the_kernel_does_not_use_has_no_role() -> None:
    text = TILED.replace("int k)", "int k, int q, int r, float alpha)").replace("C[", "sum *= r + q; C[")
    with pytest.raises(LacksOption):
        kernel(text, parameters={"BM": 8, "BN": 8})
    unused = kernel(TILED.replace("int k)", "int k, int q, int r, float alpha)"), parameters={"BM": 8, "BN": 8})
    assert unused.arguments[-3:] == (Scalar(1), Scalar(1), Scalar("alpha", "float32"))


def test_a_refusal_has_a_role_for_each_parameter() -> None:
    text = TILED.replace("int k)", "int k, int q, int r, float alpha)").replace("C[", "sum *= r + q; C[")
    with pytest.raises(LacksOption) as refused:
        kernel(text, parameters={"BM": 8, "BN": 8})
    assert refused.value.options == ("--args A,B,C,m,n,k,1,1,alpha",)


def test_headers_are_found_in_the_folders_of_the_project(tmp_path: Path) -> None:
    for name in ("src/kernels", "include/deep"):
        (tmp_path / name).mkdir(parents=True)
    source = tmp_path / "src/kernels/my.cu"
    text = '#include <cstdio>\n#include <cuda_fp16.h>\n#include "first.h"\n' + TILED
    source.write_text(text)
    (tmp_path / "include/first.h").write_text('#include "second.h"\n')
    (tmp_path / "include/deep/second.h").write_text("#define ROWS 8\n")
    folders = (str(tmp_path / "include"), str(tmp_path / "include/deep"))
    assert header_folders(source, text, ()) == folders
    (tmp_path / "include").rename(tmp_path / "parts")
    assert header_folders(source, text, ()) == ()  # nothing says where the project begins
    (tmp_path / "Makefile").write_text("")
    folders = (str(tmp_path / "parts"), str(tmp_path / "parts/deep"))
    assert header_folders(source, text, ()) == folders
    assert header_folders(source, text, tuple(f"-I{each}" for each in folders)) == ()
    source.write_text(text.replace("typename T, int BM,", "typename T, int BM = ROWS,").replace("BN /", "BN = ROWS /"))
    result = command("run", str(source), "--size", "16", "--device", "emulator")
    assert (result.exit_code, "headers in" in result.stderr) == (0, True)


@pytest.mark.parametrize("folder_of_author", ["/home/author/project/", "C:\\\\project\\\\"])
def test_a_header_by_an_absolute_path_is_found_by_its_last_components(tmp_path: Path, folder_of_author: str) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/edges.h").write_text("#define ROWS 8\n")
    source = tmp_path / "my.cu"
    text = f"#include <{folder_of_author}parts/edges.h>\n" + TILED
    source.write_text(text.replace("typename T, int BM,", "typename T, int BM = ROWS,").replace("BN /", "BN = ROWS /"))
    result = command("run", str(source), "--size", "16", "--device", "emulator")
    assert (result.exit_code, "header parts/edges.h (of the same project" in result.stderr) == (0, True)
    (tmp_path / "parts/edges.h").unlink()
    result = command("run", str(source), "--size", "16", "--device", "emulator")
    assert (result.exit_code, "is not found" in result.stderr) == (2, True)


def test_the_tiles_of_a_grid_make_whole_sizes(folder: Path) -> None:
    found = kernel(TILED + f"void go({PARAMETERS}) {{ {launched('8', '32')} }}")
    rule, config, problem = launch_text(found), found.usual_configs[0], found.problem(20, 20, 20)
    assert grid(found) == "n // 32, ceil(m / 8)"
    assert tiles(rule, problem, config) == {"m": 8, "n": 32}
    sizes = [whole(rule, problem, config, equal=equal) for equal in ("", "mnk")]
    assert [(each.m, each.n, each.k) for each in sizes] == [(24, 32, 32), (32, 32, 32)]
    (folder / "tiled.cu").write_text(TILED + f"void go({PARAMETERS}) {{ {launched('8', '32')} }}")
    result = emulated("run tiled.cu --size 20 --quiet")
    assert result.stderr.splitlines()[-1] == "  mmcore run tiled.cu --quiet --device emulator --size 24x32x32"
    hint = emulated("run tiled.cu --size 20x40x20 --quiet").stdout
    assert (
        "hint: without a remainder, at 24×64×32, the product is right\n  mmcore run tiled.cu -m 24 -n 64 -k 32" in hint
    )


def test_a_grid_with_exchanged_axes_is_found_where_whole_tiles_of_unequal_sizes_are_wrong(folder: Path) -> None:
    turned = launched("16", "16").replace("dim3(n / 16, (m + 16 - 1) / 16)", "dim3((m + 15) / 16, (n + 15) / 16)")
    (folder / "turned.cu").write_text(TILED + f"void go({PARAMETERS}) {{ {turned} }}")
    result = emulated("run turned.cu --quiet")
    assert result.exit_code == 1
    *_, hint, pasted, answer = result.stdout.splitlines()
    assert (hint, answer) == (
        "hint: with --grid 'ceil(n / 16), ceil(m / 16)' the product is right at 32×48×64, "
        "not with ceil(m / 16), ceil(n / 16), as launched in line 13; "
        "without it, it is right where m = n, as at 48×48×64",
        "TEST FAIL",
    )
    assert "--grid=ceil(n / 16), ceil(m / 16)" in pasted


def test_large_tiles_of_a_grid_that_is_rounded_down_are_known() -> None:
    found = kernel(TILED + f"void go({PARAMETERS}) {{ {launched('4', '256')} }}")
    problem = found.problem(64, 64, 64)
    assert tiles(launch_text(found), problem, found.usual_configs[0]) == {"m": 4, "n": 256}


@pytest.mark.parametrize(
    ("type_", "options"),
    [
        ("real", ("--dtype float32 --output float32",)),
        ("unsigned short", ("--dtype bfloat16", "--dtype float16")),
        ("short", ()),
    ],
)
def test_a_type_that_may_hold_elements_has_options(type_: str, options: tuple[str, ...]) -> None:
    with pytest.raises(InvalidKernel) as refused:
        kernel(TILED.replace("const T *A", f"const {type_} *A"), parameters={"BM": 8, "BN": 8})
    assert refused.value.options == options


def test_a_pitch_that_the_kernel_divides_by_sizeof_is_in_bytes(folder: Path) -> None:
    text = """
        __global__ void f(const float *A, const float *B, float *C, int m, int n, int k,
                          size_t pitchA, size_t pitchB, size_t pitchC)
        {
            int lda = pitchA / sizeof(float), ldb = pitchB / sizeof(float);
            int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
            float sum = 0;
            if (row >= m || column >= n) return;
            for (int i = 0; i < k; i++) sum += A[row * lda + i] * B[i * ldb + column];
            C[row * (pitchC / sizeof(float)) + column] = sum;
        }"""
    pitches = tuple(Scalar(f"bytes({length})", "uint64") for length in ("lda", "ldb", "ldc"))
    assert kernel(text).arguments[-3:] == pitches
    (folder / "my.cu").write_text(text)
    result = emulated("run my.cu --size 20x30x40 --lda 48 --quiet")
    assert (result.exit_code, result.stdout.splitlines()[-1]) == (0, "TEST PASS")
    assert emulated("run my.cu --size 20x30x40 --quiet --args A,B,C,m,n,k,bytes(lda),ldb,bytes(ldc)").exit_code == 1


@pytest.mark.parametrize(
    "rows",
    [
        "const float *row = (const float *)((const char *)A + y * pitchA);",
        "const char *bytes = reinterpret_cast<const char *>(A); auto row = (const float *)(bytes + y * pitchA);",
        "const float *row = (const float *)(reinterpret_cast<const char *>(A) + y * pitchA);",
    ],
)
def test_a_pitch_that_the_kernel_adds_to_bytes_is_in_bytes(folder: Path, rows: str) -> None:
    text = f"""
        __global__ void f(const float *A, size_t pitchA, const float *B, float *C, int m, int n, int k)
        {{
            int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
            if (x >= n || y >= m) return;
            {rows}
            float sum = 0;
            for (int i = 0; i < k; i++) sum += row[i] * B[i * n + x];
            C[y * n + x] = sum;
        }}"""
    assert kernel(text).arguments[1] == Scalar("bytes(lda)", "uint64")
    (folder / "my.cu").write_text(text)
    assert emulated("run my.cu --size 20x30x40 --lda 48 --quiet").exit_code == 0


@pytest.mark.parametrize("condition", ["TA", "!TA == false", "TA && TB", "TA || TB == 7"])
def test_branches_that_an_instance_never_takes_do_not_count(condition: str) -> None:
    text = f"""
        template <bool TA, bool TB>
        __global__ void f(const float *A, const float *B, float *C, int m, int n, int k)
        {{
            int i = blockIdx.x * 16 + threadIdx.x, j = blockIdx.y * 16 + threadIdx.y;
            if (i >= m || j >= n) return;
            float sum = 0;
            for (int p = 0; p < k; p++) {{
                float a;
                if ({condition}) a = A[p + i * k]; else a = A[i + p * m];
                sum += a * (TB ? B[j + p * n] : B[p + j * k]);
            }}
            C[i + j * m] = sum;
        }}
        void go(const float *A, const float *B, float *C, int m, int n, int k)
        {{ f<false, false><<<dim3((m + 15) / 16, (n + 15) / 16), dim3(16, 16)>>>(A, B, C, m, n, k); }}"""
    assert kernel(text).column_major == "ABC"
