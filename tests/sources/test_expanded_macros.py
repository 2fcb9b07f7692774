"""Macros that stand for a kernel's parameters, or for the name of a kernel that is launched."""

from __future__ import annotations

from pathlib import Path

from mmcore_sources.cuda_file.inference.infer import infer
from tests.sources.test_source_file import NAIVE, inferred

LISTED = NAIVE.replace("float *A, float *B, float *C, int N", "MATRICES, int N")
MATRICES = "#define MATRICES float *A, \\\n  float *B, float *C\n"


def test_a_macro_may_list_parameters() -> None:
    assert "MATRICES" in LISTED
    for text, headers in ((MATRICES + LISTED, []), (LISTED, [("my.h", MATRICES)])):
        found = infer(Path("/folder/my.cu"), text, {"entry": "mul"}, headers).attributes
        assert found["arguments"] == ("A", "B", "C", "n")


def test_a_macro_may_be_the_name_of_the_kernel_that_is_launched() -> None:
    second = NAIVE.replace("mul(", "second(")
    host = "void run(float *a, int n) { chosen<<<dim3(n / 4, n / 4), dim3(4, 4)>>>(a, a, a, n); }\n"
    found = inferred(f"#define chosen second\n{NAIVE}{second}{host}")
    assert (found.attributes["entry"], found.attributes["configs"]) == ("second", [{"block": (4, 4)}])
