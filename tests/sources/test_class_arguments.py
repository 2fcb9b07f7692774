"""Template arguments that are classes of constants and types, or constants of an enumeration."""

from __future__ import annotations

import re

import pytest

from mmcore.errors import InvalidKernel, LacksOption
from tests.sources.test_source_file import block_and_grid, inferred, kernel

PRODUCT = """
template <class Cfg>
__global__ void product(const typename Cfg::T *a, const typename Cfg::T *b, typename Cfg::T *c, int m, int n, int k)
{
    int i = blockIdx.y * Cfg::TILE + threadIdx.y, j = blockIdx.x * Cfg::TILE + threadIdx.x;
    if (i >= m || j >= n) return;
    typename Cfg::T sum = 0;
    for (int p = 0; p < k; ++p)
        if constexpr (Cfg::TRANSPOSED) sum += a[p * m + i] * b[p * n + j];
        else sum += a[i * k + p] * b[p * n + j];
    c[i * n + j] = sum;
}
"""
CONSTANTS = "static constexpr int TILE = {0}, EDGE = TILE; static constexpr bool TRANSPOSED = {1}; using T = {2};"
OTHER, OWN = CONSTANTS.format(8, "true", "half"), CONSTANTS.format(32, "false", "double")
PLAIN = f"struct Other {{ {OTHER} }}; struct Own {{ {OWN} }};"
GENERIC = f"template <int N, class E, bool X = false> struct Tile {{ {CONSTANTS.format('N', 'X', 'E')} }};"
LAUNCH = """
    product<CFG><<<dim3((n + CFG::EDGE - 1) / CFG::EDGE, (m + CFG::EDGE - 1) / CFG::EDGE), dim3(CFG::TILE, CFG::TILE)>>>
        (a, b, c, m, n, k);
"""
HOST = "int main() {{ double *a, *b, *c; int m = 9, n = 9, k = 9; {0} }}"
RUN = "template <class C> void run(double *a, double *b, double *c, int m, int n, int k)"
HELPER = f"{RUN} {{ {LAUNCH.replace('CFG', 'C')} }}"
LOCAL = "const int s = 16; using L = Tile<s * 2, double>; run<L>(a, b, c, m, n, k);"


def launched(argument: str) -> str:
    return HOST.format(LAUNCH.replace("CFG", argument))


def called(*arguments: str) -> str:
    return HELPER + HOST.format("".join(f"run<{each}>(a, b, c, m, n, k);" for each in arguments))


@pytest.mark.parametrize(
    ("classes", "host", "argument"),
    [
        (PLAIN, launched("Own"), "Own"),
        (PLAIN, called("Own"), "Own"),
        (GENERIC, launched("Tile<32, double>"), "Tile<32, double>"),
        (f"{GENERIC} using Own = Tile<32, double>;", called("Own"), "Own"),
        (f"{GENERIC} typedef Tile<32, double> Own;", called("Own"), "Own"),
        (GENERIC, HELPER + HOST.format(LOCAL), "Tile<32, double>"),
        (f"namespace lib {{ {GENERIC} using Own = Tile<32, double>; }}", called("lib::Own"), "lib::Own"),
        (f"namespace lib {{ {PLAIN} struct Mine : Own {{ }}; }}", called("lib::Mine"), "lib::Mine"),
        (f"{GENERIC} template <> struct Tile<7, int> {{ {OWN} }};",
         called("Tile<7, int>"), "Tile<7, int>"),
    ],
)  # fmt: skip
def test_the_class_of_a_launch_gives_the_constants_and_types(classes: str, host: str, argument: str) -> None:
    found = kernel(classes + PRODUCT + host)
    assert (found.entry, found.dtype, found.output) == (f"product<{argument}>", "float64", "float64")
    assert block_and_grid(found) == ("b32", "ceil(n / 32), ceil(m / 32)")
    assert not found.column_major


def test_a_class_that_no_launch_gives_is_asked_for() -> None:
    with pytest.raises(LacksOption, match="no launch that can be read gives Cfg") as raised:
        inferred(PLAIN + PRODUCT)
    assert raised.value.options == ("--entry 'product<Other>'", "--entry 'product<Own>'")
    with pytest.raises(InvalidKernel, match="--entry 'product<…>' names its instance"):
        inferred(PRODUCT)


def test_the_user_chooses_among_the_classes_that_a_helper_is_called_with() -> None:
    text = f"{GENERIC} using Small = Tile<8, double>; using Big = Tile<32, double>;{PRODUCT}{called('Big', 'Small')}"
    assert kernel(text).entry == "product<Big>"
    (warning,) = (each for each in inferred(text).warnings if "not run" in each)
    assert warning.endswith("launches product<Small>, which is not run; --entry 'product<Small>' runs it")
    assert block_and_grid(kernel(text, entry="product<Small>")) == ("b8", "ceil(n / 8), ceil(m / 8)")


OPERATIONS = """
namespace lib {
OPERATION
template <Op opA, Op opB>
__global__ void product(int m, int n, int k, const float *a, const float *b, float *c)
{
    int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y * blockDim.y + threadIdx.y;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int p = 0; p < k; ++p)
        sum += (opA == Op::N ? a[i * k + p] : a[p * m + i]) * (opB == Op::N ? b[p * n + j] : b[j * k + p]);
    c[i * n + j] = sum;
}
}
"""
SWITCH = """
void dispatch(lib::Op op, int m, int n, int k, const float *a, const float *b, float *c)
{
    dim3 grid(n / 16, m / 16), block(16, 16);
    switch (op) {
    case lib::Op::T: lib::product<lib::Op::T, lib::Op::N><<<grid, block>>>(m, n, k, a, b, c); break;
    case lib::Op::N: lib::product<lib::Op::N, lib::Op::T><<<grid, block>>>(m, n, k, a, b, c); break;
    }
}
int main() { float *a, *b, *c; dispatch(lib::Op::N, 64, 64, 64, a, b, c); }
"""
TEMPLATE = """
namespace lib {
template <Op x, Op y> void run(int m, int n, int k, const float *a, const float *b, float *c)
{
    product<x, y><<<dim3(n / 16, m / 16), dim3(16, 16)>>>(m, n, k, a, b, c);
}
}
using lib::Op;
int main() { float *a, *b, *c; lib::run<ARGUMENTS>(64, 64, 64, a, b, c); }
"""


@pytest.mark.parametrize("operation", ["enum class Op { N, T };", "enum Op { T = 3, N };"])
@pytest.mark.parametrize(
    ("host", "transposed"),
    [
        (SWITCH, "B"),
        (TEMPLATE.replace("ARGUMENTS", "Op::N, Op::N"), ""),
        (TEMPLATE.replace("ARGUMENTS", "Op::T, Op::N"), "A"),
        (TEMPLATE.replace("ARGUMENTS", "lib::Op::N, lib::Op::T"), "B"),
        (TEMPLATE.replace("ARGUMENTS", "Op::T, Op::T"), "AB"),
    ],
)
def test_the_constants_of_an_enumeration_choose_the_instance(operation: str, host: str, transposed: str) -> None:
    text = OPERATIONS.replace("OPERATION", operation) + host
    found = inferred(text)
    numbers = {"N": 0, "T": 1} if "class" in operation else {"N": 4, "T": 3}
    (config,) = found.attributes["configs"]
    assert found.attributes["entry"] == "lib::product<(lib::Op){opA}, (lib::Op){opB}>"
    assert [config[f"op{each}"] for each in "AB"] == [numbers["NT"[each in transposed]] for each in "AB"]
    assert found.attributes["column_major"] == transposed
    evidence = " and ".join(each.evidence for each in found.unusual)
    assert re.findall(r"the Op::T that line \d+ passes for op(\w)", evidence) == [*transposed]
