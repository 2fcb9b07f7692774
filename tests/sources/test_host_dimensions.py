"""Launches whose block and grid other host code sets: functions, assignments, pointers, and calls of the runtime."""

from __future__ import annotations

import pytest

from mmcore.errors import LacksOption
from mmcore.kernel.arguments import Scalar
from mmcore_sources.cuda_file.inference.expressions import SizeRule
from tests.kernel_sources import kernel_source
from tests.sources.test_source_file import block_and_grid, inferred, kernel, launch_text

GROUPS = """
__global__ void groups(const float *A, const float *B, float *C, int M, int N, int K)
{
    int lane = threadIdx.x % 4, row = blockIdx.y, column = blockIdx.x * 24 + threadIdx.x / 4;
    float sum = 0;
    for (int k = lane; k < K; k += 4)
        sum += A[row * K + k] * B[k * N + column];
    atomicAdd(&C[row * N + column], sum);
}
"""
CALL = """
HELPER
void call(float *A, float *B, float *C, int M, int N, int K, int argc, char **argv)
{
    CODE
}
"""
ARGUMENTS = "(A, B, C, M, N, K)"
LAUNCH = f"groups<<<blocks, threads>>>{ARGUMENTS};"
SIZES = "dim3 blocks((N + 23) / 24, M); "


@pytest.mark.parametrize(
    ("helper", "code"),
    [
        ("", "dim3 threads, blocks; threads = dim3(96); blocks = dim3((N + 23) / 24, M); " + LAUNCH),
        (
            "void set(int m, int n, dim3 &t, dim3 &b) { t = dim3(96); b.x = (n + 23) / 24; b.y = m; }",
            "dim3 threads, blocks; set(M, N, threads, blocks); " + LAUNCH,
        ),
        (
            "void set(int m, int n, dim3 *t, dim3 *b) { *t = dim3(96); b->x = (n + 23) / 24; b->y = m; }",
            "dim3 threads, blocks; set(M, N, &threads, &blocks); " + LAUNCH,
        ),
        ("dim3 threads_of(int count) { return dim3(count); }", SIZES + "dim3 threads = threads_of(96); " + LAUNCH),
        (
            "dim3 blocks_of(int m, int n) { return dim3((n + 23) / 24, m); }",
            f"groups<<<blocks_of(M, N), 96>>>{ARGUMENTS};",
        ),
        ("const dim3 threads(96);", SIZES + LAUNCH),
        ("", SIZES + "dim3 threads(N); int width; threads.x = width = 96; " + LAUNCH),
        ("#define THREADS dim3(96)\n#define BLOCKS dim3((N + 23) / 24, M)", f"groups<<<BLOCKS, THREADS>>>{ARGUMENTS};"),
        (
            "struct Shape { dim3 threads, blocks; };",
            "Shape s; s.threads = dim3(96); s.blocks = dim3((N + 23) / 24, M); "
            f"groups<<<s.blocks, s.threads>>>{ARGUMENTS};",
        ),
        (
            "",
            SIZES + "void (*which)(const float *, const float *, float *, int, int, int) = groups; "
            f"which<<<blocks, 96>>>{ARGUMENTS};",
        ),
        ("", SIZES + f"auto which = other; which = groups; which<<<blocks, 96>>>{ARGUMENTS};"),
        ("", SIZES + f"int threads = argc > 1 ? atoi(argv[1]) : 96; groups<<<blocks, threads>>>{ARGUMENTS};"),
        (
            "",
            SIZES + "void *passed[] = {&A, &B, &C, &M, &N, (void *)&K}; "
            "cudaLaunchKernel((const void *)groups, blocks, dim3(96), passed, 0, 0);",
        ),
        (
            "",
            "cudaLaunchConfig_t c = {0}; c.gridDim = dim3((N + 23) / 24, M); c.blockDim = 96; "
            "cudaLaunchKernelEx(&c, groups, A, B, C, M, N, K);",
        ),
        (
            "",
            SIZES + "cudaLaunchConfig_t c = {.gridDim = blocks, .blockDim = dim3(96)}; "
            "cudaLaunchKernelEx(&c, groups, A, B, C, M, N, K);",
        ),
    ],
)
def test_block_and_grid_are_read_where_the_host_sets_them(helper: str, code: str) -> None:
    text = GROUPS + CALL.replace("HELPER", helper).replace("CODE", code)
    assert block_and_grid(kernel(text)) == ("b96x1", "ceil(n / 24), m")


@pytest.mark.parametrize(
    ("helper", "code"),
    [
        ("dim3 of(int M, int N) { return dim3((N + 23) / 24, M); }", "dim3 blocks = of(N, M); "),
        ("dim3 of(int m, int n, int w = 24) { n += w - 1; return {unsigned(n / w), m}; }", "auto blocks = of(N, M); "),
        ("template <int W> dim3 of(int m, int n) { return dim3((n + W - 1) / W, m); }", "dim3 blocks = of<24>(N, M); "),
        ("", "auto of = [=](int m) { return dim3((M + 23) / 24, m); }; dim3 blocks = of(N); "),
        ("struct Tile { int w = 24; dim3 of(int m, int n) { return {(n + w - 1) / w, m}; } };",
         "auto blocks = t.of(N, M); "),
        ("void of(int m, int n, dim3 &b) { b = dim3((n + 23) / 24, m); }", "dim3 blocks; of(N, M, blocks); "),
        ("void of(int m, int n, int &x, int *y) { x = (n + 23) / 24; *y = m; }",
         "int x = 0, y = 0; of(N, M, x, &y); dim3 blocks(x, y); "),
        ("int ceil_div(int w, int n) { return (n + w - 1) / w; }", "dim3 blocks(ceil_div(24, M), N); "),
    ],
)  # fmt: skip
def test_a_helper_gets_the_arguments_of_its_call_in_their_order(helper: str, code: str) -> None:
    code = code.replace("; ", ";\n") + LAUNCH.replace("threads", "96")
    text = GROUPS + CALL.replace("HELPER", helper).replace("CODE", code)
    main = "int main() { int M = 333, N = 257; call(A, B, C, M, N, 99, 0, 0); }"
    assert block_and_grid(kernel(text + main))[1] == "ceil(m / 24), n"


@pytest.mark.parametrize(
    "helper",
    [
        "dim3 of(int m, int n) { if (n > 99) return dim3((n + 23) / 24, m); return dim3(n, m); }",
        "struct A { dim3 of(int m, int n) { return {n, m}; } }; struct B { dim3 of(int m, int n) { return {m, n}; } };",
    ],
)
def test_a_helper_with_several_values_is_a_warning(helper: str) -> None:
    text = GROUPS + CALL.replace("HELPER", helper).replace("CODE", LAUNCH.replace("blocks, threads", "t.of(N, M), 96"))
    assert any("cannot be read, and is not tested" in each for each in inferred(text).warnings)


COUNTER = "cudaDeviceGetAttribute(&most, cudaDevAttrMultiProcessorCount, 0); "
PROPERTIES = "cudaDeviceProp p; cudaGetDeviceProperties(&p, 0); int most = p.multiProcessorCount; "


@pytest.mark.parametrize(
    ("code", "limit"),
    [
        ("int blocks = all < 64 ? all : 64;", "all, 64"),
        ("int blocks = (64) <= all ? 64 : (all);", "64, all"),
        ("int blocks = all; if (blocks > 64) blocks = 64;", "all, 64"),
        ("int blocks; blocks = all; if (64 < blocks) { blocks = 64; }", "all, 64"),
        ("dim3 blocks(all); if (blocks.x > 64) blocks.x = 64;", "all, 64"),
        ("int most; " + COUNTER + "int blocks = all < 2 * most ? all : 2 * most;", "all, 2 * 132"),
        (PROPERTIES + "int blocks = std::min(all, most);", "all, 132"),
    ],
)
def test_a_comparison_that_limits_a_grid_is_a_minimum(code: str, limit: str) -> None:
    text = GROUPS.replace("blockIdx.y", "blockIdx.x / 9") + CALL.replace("HELPER", "")
    code = f"int all = (N + 23) / 24 * M;\n{code}\ngroups<<<blocks, 96>>>(A, B, C, M, N, K);".replace("; ", ";\n")
    _, grid = block_and_grid(kernel(text.replace("CODE", code)))
    assert grid == f"min({limit.replace('all', 'ceil(n / 24) * m')})"


def test_a_choice_between_other_numbers_than_the_compared_ones_is_no_minimum() -> None:
    code = "int all = (N + 23) / 24 * M;\nint blocks = all < 64 ? all : 65;\ngroups<<<blocks, 96>>>(A, B, C, M, N, K);"
    text = GROUPS.replace("blockIdx.y", "blockIdx.x / 9") + CALL.replace("HELPER", "").replace("CODE", code)
    assert "min" not in block_and_grid(kernel(text))[1]


@pytest.mark.parametrize(("blocks", "expected"), [("(SIDE + 15) / 16", "ceil(n / 16), ceil(m / 16)"), ("24", "24, 24")])
def test_blocks_that_count_a_constants_tiles_are_those_of_a_size_though_the_kernel_counts_them(
    blocks: str, expected: str
) -> None:
    text = """
#define SIDE 1000
__global__ void mul(const float *A, const float *B, float *C, int m, int n, int k)
{
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int t = 0; t < gridDim.x; t++)
        for (int p = t * 16; p < t * 16 + 16; p++) sum += p < k ? A[row * k + p] * B[p * n + column] : 0;
    if (row < m && column < n) C[row * n + column] = sum;
}
void call(float *a, float *b, float *c, int s) { mul<<<dim3(BLOCKS, BLOCKS), dim3(16, 16)>>>(a, b, c, s, 7, s); }
""".replace("BLOCKS", blocks)
    assert block_and_grid(kernel(text))[1] == expected


def test_a_cluster_is_read_from_the_attributes_of_a_launch() -> None:
    code = (
        "const int wide = 2; cudaLaunchConfig_t c; c.gridDim = dim3((N + 23) / 24 * 2, M); c.blockDim = 96;"
        "cudaLaunchAttribute of[1]; of[0].val.clusterDim.x = wide; of[0].val.clusterDim.y = 1; c.attrs = of;"
        "cudaLaunchKernelEx(&c, groups, A, B, C, M, N, K);"
    )
    found = kernel(GROUPS + CALL.replace("HELPER", "").replace("CODE", code))
    assert launch_text(found).cluster == (2, 1)


MEMBERS = "int m_, n_, k_, wide_ = 24; dim3 blocks_, threads_{96};"
PASSED = "<<<blocks_, threads_>>>(A, B, C, m_, n_, k_); }"
RUN = f"void run(float *A, float *B, float *C) {{ groups{PASSED}"
MADE = "Product(int m, int n, int k) : m_(m), n_(n), k_(k)"


@pytest.mark.parametrize(
    "members",
    [
        f"{MADE}, blocks_((n + 23) / 24, m), threads_(96) {{}} {RUN} {MEMBERS}",
        f"{MADE} {{ blocks_ = dim3((n + wide_ - 1) / wide_, m); }} {RUN} {MEMBERS}",
        f"Product(int m, int n, int k) {{ m_ = m; this->n_ = n; k_ = k; set(); }} {RUN} {MEMBERS}"
        "void set() { this->blocks_ = dim3((n_ + 23) / 24, m_); threads_ = dim3(96); }",
        f"dim3 grid() const {{ return dim3((n_ + 23) / 24, m_); }} {MEMBERS} {RUN.replace('blocks_', 'grid()')}",
        f"{RUN.replace('blocks_', 'this->blocks_')} {MEMBERS} void set() {{ blocks_ = {{(n_ + 23) / 24, m_}}; }}",
    ],
)
@pytest.mark.parametrize("apart", [False, True])
def test_block_and_grid_may_be_members_of_a_class(members: str, apart: bool) -> None:
    text = f"class Product {{ {members} }};\n"
    if apart:
        run = members[members.index("void run") : members.index("; }", members.index("void run")) + 3]
        text = text.replace(run, "void run(float *A, float *B, float *C);") + run.replace("run", "Product::run")
    assert block_and_grid(kernel(GROUPS + text)) == ("b96x1", "ceil(n / 24), m")


def test_members_of_another_class_do_not_count() -> None:
    other = f"struct Other {{ dim3 blocks_{{1, 2}}, threads_{{7}}; }}; struct Product {{ int m_, n_, k_; {RUN} }};"
    assert block_and_grid(kernel(GROUPS + other))[0] == "b24x1"  # the columns of a tile


PARTS = """
__global__ void parts(const float *a, const float *b, float *c, int M, int N, int K, int each)
{
    int row = blockIdx.y * 16 + threadIdx.y, col = blockIdx.x * 16 + threadIdx.x, first = blockIdx.z * each;
    float sum = 0;
    for (int p = first; p < min(K, first + each); p++) sum += a[row * K + p] * b[p * N + col];
    if (row < M && col < N) atomicAdd(&c[row * N + col], sum);
}
class Product {
public:
    Product(int m, int n, int k, int parts) : m_(m), n_(n), k_(k), parts_(PARTS) {}
    void operator()(const float *a, const float *b, float *c)
    {
        dim3 grid(up(n_, 16), up(m_, 16), parts_);
        parts<<<grid, dim3(16, 16)>>>(a, b, c, m_, n_, k_, up(k_, parts_));
    }
private:
    static int up(int a, int b) { return (a + b - 1) / b; }
    int m_, n_, k_, parts_;
};
int main() { const int M = 64, N = 48, K = 320, count = 8; MADE; }
"""


@pytest.mark.parametrize(
    "made",
    [
        "Product product(M, N, K, 8)",
        "Product product(M, N, K, count)",
        "Product product{M, N, K, count}",
        "Product product = Product(M, N, K, 8)",
        "auto *product = new Product(M, N, K, 8)",
        "auto product = std::make_unique<Product>(M, N, K, 8)",
    ],
)
def test_a_member_is_what_the_program_constructs_its_object_with(made: str) -> None:
    found = kernel(PARTS.replace("MADE", made).replace("PARTS", "parts"))
    assert (found.launch.grid, found.arguments[-1]) == (  # type: ignore[union-attr]
        "ceil(n / 16), ceil(m / 16), 8",
        Scalar(SizeRule("ceil(k / 8)"), "int32"),
    )


def test_an_extent_along_z_that_cannot_be_read_is_a_warning() -> None:
    text = PARTS.replace("MADE", "Product product(M, N, K, 8)").replace("PARTS", "most(parts)")
    with pytest.raises(LacksOption) as refused:
        inferred(text)
    assert refused.value.options == ("--args A,B,C,m,n,k,k",)
    (warning,) = inferred(text, args=["A", "B", "C", "m", "n", "k", "k"]).warnings
    assert warning.startswith("parts_ along z of the grid in line 15 cannot be read, and is not tested: ceil(n / 16), ")


TOKENS = """
#define CEIL_DIV(a, b) (((a) + (b) - 1) / (b))
__device__ float4 four(const float *p) { return *reinterpret_cast<const float4 *>(p); }
__global__ void dense(float *y, const float *x, const float *w, const float *bias, SIZES)
{
    int row = blockIdx.x * 16 + threadIdx.x, column = blockIdx.y * 16 + threadIdx.y;
    float sum = bias ? bias[column] : 0;
    for (int p = 0; p < inner; p += 4) {
        float4 a = four(x + row * inner + p), b = four(w + column * inner + p);
        sum += a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w;
    }
    put(y + row * outer + column, sum);
}
void forward(float *y, const float *x, const float *w, const float *bias, int batch, int steps, int inner, int outer)
{
    dim3 grid(CEIL_DIV(batch * steps, 16), CEIL_DIV(outer, 16));
    dense<<<grid, dim3(16, 16)>>>(y, x, w, bias, PASSED);
}
int main() { forward(y, x, w, 0, 8, 64, 256, 128); }
"""


@pytest.mark.parametrize(
    ("sizes", "passed", "words"),
    [
        ("int rows, int inner, int outer", "batch * steps, inner, outer", "m,k,n"),
        ("int rows, int inner, int outer", "steps*batch, inner, outer", "m,k,n"),
        ("int inner, int outer", "inner, outer", "k,n"),
    ],
)
def test_a_product_of_two_numbers_of_the_host_is_the_number_of_rows(sizes: str, passed: str, words: str) -> None:
    text = TOKENS.replace("SIZES", sizes).replace("PASSED", passed)
    found = kernel(text)
    assert found.arguments == kernel(text, args=["C", "A", "B", "0", *words.split(",")]).arguments
    assert (block_and_grid(found), found.column_major) == (("b16", "ceil(m / 16), ceil(n / 16)"), "B")


def test_a_dimension_that_depends_on_itself_is_not_read() -> None:
    code = "dim3 threads, blocks; threads.x = threads.x * threads.y; threads.y = threads.x; " + LAUNCH
    block, _ = block_and_grid(kernel(GROUPS + CALL.replace("HELPER", "").replace("CODE", code)))
    assert block == "b24x1"  # the columns of a tile


DYNAMIC = """
__global__ void mul(const float *A, const float *B, float *C, int M, int N, int K EDGE)
{
    extern __shared__ float tiles[];
    int row = blockIdx.y * SIZE + threadIdx.y, column = blockIdx.x * SIZE + threadIdx.x;
    float sum = 0;
    for (int k = 0; k < K; k++)
        sum += A[row * K + k] * B[k * N + column];
    tiles[threadIdx.y * SIZE + threadIdx.x] = sum;
    if (row < M && column < N)
        C[row * N + column] = tiles[threadIdx.y * SIZE + threadIdx.x];
}
void call(float *A, float *B, float *C, int m, int n, int k, int edge)
{
    dim3 threads(edge, edge), blocks((n + edge - 1) / edge, (m + edge - 1) / edge);
    mul<<<blocks, threads, 2 * edge * edge * sizeof(float)>>>(A, B, C, m, n, k PASSED);
}
"""


@pytest.mark.parametrize(
    ("parameter", "size", "passed", "grid", "shared"),
    [
        ("", "blockDim.x", "", "ceil(n / bx), ceil(m / bx)", "2 * bx * bx * 4"),
        (", int BS", "BS", ", edge", "ceil(n / 16), ceil(m / 16)", "2 * 16 * 16 * 4"),
    ],
)
def test_shared_memory_follows_from_a_variable_that_is_the_block_s_edge(
    parameter: str, size: str, passed: str, grid: str, shared: str
) -> None:
    text = DYNAMIC.replace(" EDGE", parameter).replace("SIZE", size).replace(" PASSED", passed)
    found = kernel(text)
    assert (block_and_grid(found), launch_text(found).shared_bytes) == (("b16", grid), shared)


@pytest.mark.parametrize(
    ("helper", "edge", "blocks"),
    [
        ("", "float edge = sqrt(threads_of_device());", "ceil(N / edge), ceil(M / edge)"),
        ("", "double edge; edge = 16;", "ceil(N / edge), ceil(M / edge)"),
        ("const float edge = 16;", "", "ceil(N / edge), ceil(M / edge)"),
        ("struct Tile { float edge; } tile;", "", "ceil(N / tile.edge), ceil(M / tile.edge)"),
        ("#define BLOCKS(n, edge) ceil((float)(n) / (edge))", "int edge = 16;", "BLOCKS(N, edge), BLOCKS(M, edge)"),
    ],
)
def test_a_quotient_with_a_real_variable_is_not_rounded_down(helper: str, edge: str, blocks: str) -> None:
    code = f"{edge} dim3 threads(SIZE, SIZE), blocks({blocks}); mul<<<blocks, threads>>>(A, B, C, M, N, K);"
    code = code.replace("SIZE", "tile.edge" if "tile." in blocks else "edge")
    body = DYNAMIC[: DYNAMIC.index("void call")].replace(" EDGE", "").replace("SIZE", "blockDim.x")
    _, grid = block_and_grid(kernel(body + CALL.replace("HELPER", helper).replace("CODE", code), block=(16, 16)))
    assert grid.replace("bx", "16").replace("by", "16") == "ceil(n / 16), ceil(m / 16)"


OBJECTS = """
struct Matrix {
    float *p; int rows_, columns_;
    Matrix(int rows, int columns) : rows_(rows), columns_(columns) { cudaMalloc(&p, rows * columns * 4); }
    int rows() const { return rows_; }
    int columns() const { return columns_; }
};
void multiply(Matrix &A, Matrix &B, Matrix &C)
{
    dim3 blocks((C.columns() + 15) / 16, (C.rows() + 15) / 16);
    mul<<<blocks, dim3(16, 16)>>>(A.p, B.p, C.p, A.rows(), B.columns(), A.columns());
}
int main() { int M = 500, N = 300, K = 700; Matrix A(M, K), B(K, N), C(M, N); multiply(A, B, C); }
"""


def test_a_member_of_one_of_several_objects_is_not_that_of_the_first() -> None:
    assert any(
        "cannot be read, and is not tested" in each for each in inferred(kernel_source("guarded") + OBJECTS).warnings
    )
