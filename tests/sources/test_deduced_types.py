"""Element types: those of a launch's arguments, where it has no template arguments, and unsigned ones."""

from __future__ import annotations

import pytest

from tests.sources.test_source_file import NAIVE, kernel
from tests.sources.test_suggestions import LINEAR

PRODUCT = "template <class T> " + LINEAR.replace("const float *bias, ", "").replace("float", "T").replace(
    "bias[j]", "0"
)
HELPER = """
template <class U> void go(const U *x, const U *w, U *y, int m)
{
    linear<<<1, dim3(9, 9)>>>(x, w, y, m, m, m, 0);
}
"""


@pytest.mark.parametrize(
    "host",
    [
        "int main() { double *x, *w, *y; linear<<<1, dim3(9, 9)>>>(x, w, y, 9, 9, 9, 0); }",
        "void run(const double *x, double *w, double *y) { linear<<<1, dim3(9, 9)>>>(x, w, y, 9, 9, 9, 0); }",
        HELPER + "int main() { double *x, *w, *y; go(x, w, y, 9); }",
        HELPER + "void run(double *x) { go(x, x, x, 9); }",
        HELPER + "int main() { thrust::device_vector<double> x, w, y; go(raw_pointer_cast(x.data()), w, y, 9); }",
        HELPER + "using real = double;\nint main() { real *x, *w, *y; go(x, w, y, 9); }",
    ],
)
def test_the_arguments_of_a_launch_give_the_type_of_a_template(host: str) -> None:
    found = kernel(PRODUCT + host, block="9x9", grid="ceil(n / 9), ceil(m / 9)")
    assert found.dtype == "float64"
    assert found.entry.startswith("linear<")


@pytest.mark.parametrize("host", ["", "int main() { auto x = get(); linear<<<1, dim3(9, 9)>>>(x, x, x, 9, 9, 9, 0); }"])
def test_a_type_that_nothing_shows_is_float(host: str) -> None:
    assert kernel(PRODUCT + host, block="9x9", grid="ceil(n / 9), ceil(m / 9)").dtype == "float32"


@pytest.mark.parametrize("word", ["unsigned", "unsigned int", "uint32_t"])
def test_unsigned_elements_are_multiplied_as_int32(word: str) -> None:
    found = kernel(NAIVE.replace("float", word))
    assert (found.dtype, found.output) == ("int32", "int32")
