"""The ``__global__`` functions of a source, and the arguments inferred from their parameters' names and types."""

from __future__ import annotations

import pytest

from mmcore import InvalidKernel, Scalar
from mmcore.kernel.arguments import Argument, inferred_arguments
from mmcore.kernel.signature import Signature, signatures


def only(source: str) -> Signature:
    (signature,) = signatures(source)
    return signature


def shown(signature: Signature) -> str:
    return ", ".join(f"{parameter.type} {parameter.name}".strip() for parameter in signature.parameters)


@pytest.mark.parametrize(
    "declaration",
    [
        'extern "C" __global__ void f(const float* A, float* C, int n)',
        "void __global__ f(const float *A, float *C, int n)",
        "static __global__ __launch_bounds__(256, 2) void f(float const* A, float* C, int n)",
        "__global__ void __launch_bounds__(MOST(8, 4) * 32) f(const float* A, float* C, int n)",
        "__global__ void __cluster_dims__(2, 1, 1) f(const float* __restrict__ A, float* __restrict__ C, const int n)",
        "[[maybe_unused]] __global__ void f(const float* A, float* const C, int n = (1 << 5))",
        "__global__ void\nf(\n  const float A[],  // the left one\n  float C[], /* and, not { the } last */ int n\n)",
        "__global__ void f(const float*, float*, int);\n__global__ void f(const float* A, float* C, int n)",
        "__global__ void f(float*, float*, unsigned int);\n__global__ void f(const float* A, float* C, int n)",
        "__global__ void f(float* A, float* C, unsigned int);\n__global__ void f(const float* A, float* C, int n)",
    ],
)
def test_attributes_qualifiers_and_comments_are_no_part_of_a_signature(declaration: str) -> None:
    signature = only(f"{declaration}\n{{\n    __syncthreads();\n}}\n")
    assert signature.name == "f"
    assert shown(signature) == "float* A, float* C, int n"
    assert not signature.template


@pytest.mark.parametrize(
    "head",
    [
        "template <int TILE>",
        "template <typename T, int TILE = (32 > 2)>\nstatic",
        "template <int TILE> __launch_bounds__(TILE * TILE)",
        "template <int TILE> requires (TILE > 0)",
    ],
)
def test_a_template_is_known_as_one(head: str) -> None:
    assert only(f"{head} __global__ void f(float* C) {{ }}").template


def test_a_function_behind_a_template_is_none() -> None:
    source = "template <int N> struct Tile { float of[N]; };\n__global__ void f(float* C) { }"
    assert not only(source).template


def test_functions_that_are_not_compiled_are_not_seen() -> None:
    source = """
    // __global__ void commented(float* C) { }
    /* __global__ void commented_too(float* C) { } */
    #if 0
    #ifndef NESTED_TOO
    #define NESTED_TOO
    #endif
    #if NESTED_AS_WELL
    #endif
    __global__ void behind(float* C) { }
    #ifdef NESTED
    __global__ void nested(float* C) { }
    #else
    __global__ void nested_too(float* C) { }
    #endif
    __global__ void disabled(float* C) { }
    #else
    __global__ void enabled(float* C) { printf("__global__ void quoted(float* C)"); }
    #endif
    #if false
    __global__ void disabled_in_words(float* C) { }
    #endif
    #define DEFINED(type) __global__ void defined(type* C) \\
        { }
    __device__ void on_the_device(float* C) { }
    """
    assert [signature.name for signature in signatures(source)] == ["enabled"]


def test_every_function_is_found_in_order_once() -> None:
    source = (
        "__global__ void b();\n__global__ void a(int n) { }\n__global__ void b() { }\nvoid host() { a<<<1, 1>>>(2); }"
    )
    assert [(signature.name, len(signature.parameters)) for signature in signatures(source)] == [("b", 0), ("a", 1)]


@pytest.mark.parametrize(
    "source", ["", "__global__", "__global__ void f", "__global__ void f(", "__global__ (", "}{)(;"]
)
def test_what_is_no_cuda_has_no_complete_signature(source: str) -> None:
    assert all(signature.parameters == () for signature in signatures(source))


@pytest.mark.parametrize(
    ("parameters", "arguments"),
    [
        ("const float* A, const float* B, float* C, int m, int n, int k", ("A", "B", "C", "m", "n", "k")),
        ("__half *c, const __half a[], const __half* b, const int N, int ldA", ("C", "A", "B", "n", "lda")),
        ("double* C, size_t n, std::size_t m", ("C", Scalar("n", "uint64"), Scalar("m", "uint64"))),
        ("long long k, unsigned n", (Scalar("k", "int64"), Scalar("n", "uint32"))),
        ("long unsigned int n, short int m", (Scalar("n", "uint64"), Scalar("m", "int16"))),
        ("std::uint32_t n, int64_t ldc", (Scalar("n", "uint32"), Scalar("ldc", "int64"))),
        ("", ()),
        ("void", ()),
    ],
)
def test_arguments_are_inferred_from_the_usual_names(parameters: str, arguments: tuple[Argument, ...]) -> None:
    assert inferred_arguments(only(f"__global__ void f({parameters}) {{ }}")) == arguments


@pytest.mark.parametrize(
    ("parameters", "shown"),
    [
        ("float* A, int alpha", "int alpha"),
        ("float* X", r"float\* X"),
        ("float A", "float A"),
        ("float n", "float n"),
        ("int* n", r"int\* n"),
        ("const int& n", "int& n"),
        ("const float*, int", r"float\*"),
        ("unsigned int", "unsigned int"),
        ("const long long", "long long"),
        ("const __grid_constant__ CUtensorMap a", "CUtensorMap a"),
        ("pair<int, float> A", "pair<int, float> A"),
        ("array<float, (2 > 1)> A", r"array<float, \(2 > 1\)> A"),
    ],
)
def test_a_parameter_of_another_name_or_type_must_be_declared(parameters: str, shown: str) -> None:
    with pytest.raises(InvalidKernel, match=f"the parameter '{shown}' of f .* so arguments= must say what it gets"):
        inferred_arguments(only(f"__global__ void f({parameters}) {{ }}"))
