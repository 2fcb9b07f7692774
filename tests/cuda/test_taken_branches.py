"""The definitions of a macro that the preprocessor takes, among several of one name, and the launches."""

from __future__ import annotations

import pytest

from mmcore_cuda.cuda_source.program import read_program
from mmcore_cuda.cuda_source.taken_branches import kernel_names, without_skipped_code
from tests.sources.test_source_file import NAIVE, changed, kernel

SETS = """
#if !defined(TINY) && !defined(LARGE) && !defined(HUGE)
# define USUAL
#endif
#ifdef TINY
#define EDGE 64
#endif
#ifdef USUAL
#define EDGE 512
#endif
#ifdef LARGE
#define EDGE 1024
#endif
#if defined HUGE
#define EDGE 4096
#endif
"""
CHAIN = """
#define LEVEL 2
#if LEVEL == 1
#define EDGE 64
#elif LEVEL > 1 && !(LEVEL >= 3)
#define EDGE 512
#elif defined(LEVEL)
#define EDGE 1024
#else
#define EDGE 4096
#endif
"""


def edge(text: str, *headers: tuple[str, str], **defined: str) -> str:
    """Return the first definition of EDGE that remains."""
    source, rest = without_skipped_code(text, headers, defined)
    program = read_program(source)
    for name, content in rest:
        program = program.with_header(name, content)
    return program.macros["EDGE"].text


@pytest.mark.parametrize(
    ("text", "defined", "value"),
    [
        (SETS, {}, "512"),
        (SETS, {"TINY": ""}, "64"),
        (SETS, {"HUGE": "1"}, "4096"),
        ("#define LARGE\n" + SETS, {}, "1024"),
        ("#define LARGE\n#undef LARGE\n" + SETS, {}, "512"),
        (CHAIN, {}, "512"),
        (CHAIN.replace("LEVEL 2", "LEVEL (1)"), {}, "64"),
        (CHAIN.replace("LEVEL 2", "LEVEL 3u"), {}, "1024"),
        (CHAIN.replace("#define LEVEL 2", ""), {}, "4096"),
        (CHAIN.replace("#define LEVEL 2", ""), {"LEVEL": "1"}, "64"),
        ("#ifdef __CUDA_ARCH__\n#define EDGE 8\n#else\n#define EDGE 16\n#endif\n", {}, "8"),
        ("#if EDGES_OF(3)\n#define EDGE 8\n#else\n#define EDGE 16\n#endif\n", {}, "8"),
        ("#ifdef TINY\n#define EDGE 64\n#elif defined(LARGE)\n#define EDGE 1024\n#endif\n", {}, "64"),
        ("#if 0\n#if 1\n#define EDGE 8\n#else\n#define EDGE 9\n#endif\n#endif\n#define EDGE 16\n", {}, "16"),
    ],
)
def test_the_definition_of_the_branch_that_is_taken_counts(text: str, defined: dict[str, str], value: str) -> None:
    assert edge(text, **defined) == value


def test_a_header_is_read_where_it_is_included() -> None:
    header = ("sizes.h", f"#ifndef SIZES_H\n#define SIZES_H\n{SETS}#endif\n")
    assert edge('#include "folder/sizes.h"\n', header) == "512"
    assert edge('#define TINY\n#include "sizes.h"\n', header) == "64"
    assert edge('#include "sizes.h"\n#define TINY\n', header) == "512"
    assert edge('#include "sizes.h"\n', ("sizes.h", f'#include "sizes.h"\n{SETS}')) == "512"


def test_lines_keep_their_numbers() -> None:
    text, _ = without_skipped_code(SETS, (), {})
    assert [len(each) for each in text.splitlines()] == [len(each) for each in SETS.splitlines()]


def test_a_kernel_of_several_sets_of_sizes_has_the_one_that_is_compiled() -> None:
    text = SETS + changed(NAIVE, {", int N": "", "N": "EDGE"})
    usual, tiny = (kernel(text, **given).constraints[0] for given in ({}, {"defines": {"TINY": "1"}}))
    assert "512×512×512" in usual.description
    assert "64×64×64" in tiny.description


def test_launches_in_branches_that_are_not_taken_do_not_count_unless_they_are_all() -> None:
    text = "void run(int n) {\n  int m = n;\n#ifdef FAST\n  fast<<<n, m>>>(n);\n#endif\n  usual<<<n, 8>>>(n);\n}\n"
    launched = {
        name: [each.name for each in read_program(without_skipped_code(source, (), defined)[0]).launches]
        for name, source, defined in (
            ("as it is", text, {}),
            ("defined", text, {"FAST": "1"}),
            ("alone", text.replace("usual<<<n, 8>>>(n);", ""), {}),
        )
    }
    assert launched == {"as it is": ["usual"], "defined": ["fast", "usual"], "alone": ["fast"]}


KERNELS = """
#ifdef TILED
__global__ void mul(float *A) { A[1] = 0; }
#pragma unroll
#elif WIDE
__global__ void mul(float *A) { A[2] = 0; }
#else
__global__ void mul(float *A) { A[3] = 0; }
#endif
#if 0
__global__ void other(float *A) {}
#endif
"""


@pytest.mark.parametrize(
    ("header", "defined", "taken"),
    [("", {}, "A[3]"), ("", {"TILED": ""}, "A[1]"), ("", {"WIDE": 1}, "A[2]"), ("#define TILED", {}, "A[1]")],
)
def test_of_the_kernels_of_one_name_that_of_the_taken_branch_is_left(
    header: str, defined: dict[str, object], taken: str
) -> None:
    text, _ = without_skipped_code(f'#include "my.h"{KERNELS}', [("my.h", header)], defined)
    assert kernel_names(text) == ["mul", "other"], "a kernel of no other branch is kept"
    assert [each for each in ("A[1]", "A[2]", "A[3]") if each in text] == [taken]
    assert text.count("\n") == KERNELS.count("\n")
