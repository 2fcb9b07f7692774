"""Parameters that a kernel only tests, such as for a transposed matrix: the values of the launch choose branches."""

from __future__ import annotations

import re

import pytest

from tests.sources.test_source_file import inferred

SOURCE = """enum Operation { NoTrans, Trans, ConjTrans = 7 };
__global__ void mul(TYPE ta, TYPE tb, int m, int n, int k, const float *a, const float *b, float *c)
{
    int i = blockIdx.y * 16 + threadIdx.y, j = blockIdx.x * 16 + threadIdx.x;
    if (i >= m || j >= n) return;
    float sum = 0;
    for (int p = 0; p < k; p++) {
        float x = IS(ta) ? a[p * m + i] : a[i * k + p];
        float y = IS(tb) ? b[j * k + p] : b[p * n + j];
        sum += x * y;
    }
    c[i * n + j] = sum;
}
void host(const float *a, const float *b, float *c, int m, int n, int k)
{
    mul<<<dim3((n + 15) / 16, (m + 15) / 16), dim3(16, 16)>>>(PASSED, m, n, k, a, b, c);
}
"""


@pytest.mark.parametrize(
    ("type_", "tested", "passed", "values", "by_columns"),
    [
        ("Operation", "{0} != NoTrans", "NoTrans, NoTrans", ["0", "0"], ""),
        ("Operation", "{0} != NoTrans", "ConjTrans, NoTrans", ["7", "0"], "A"),
        ("int", "{0} == Trans", "NoTrans, Trans", ["0", "1"], "B"),
        ("bool", "{0}", "false, false", ["0", "0"], ""),
        ("char", "{0} == 'T'", "'N', 'N'", ["78", "78"], ""),
    ],
)
def test_a_launch_chooses_the_branches_of_its_flags(
    type_: str, tested: str, passed: str, values: list[str], by_columns: str
) -> None:
    text = re.sub(r"IS\((\w+)\)", lambda found: tested.format(found[1]), SOURCE.replace("TYPE", type_))
    found = inferred(text.replace("PASSED", passed))
    assert [str(getattr(each, "value", each)) for each in found.attributes["arguments"][:2]] == values
    assert found.attributes["column_major"] == by_columns
    assert not any(each.guessed for each in found.notes if each.what == "arguments")


def test_the_users_value_of_a_flag_chooses_its_branch() -> None:
    text = SOURCE.replace("TYPE", "int").replace("IS", "").replace("PASSED", "0, 0")
    assert inferred(text, args=["1", "0", "m", "n", "k", "A", "B", "C"]).attributes["column_major"] == "A"
