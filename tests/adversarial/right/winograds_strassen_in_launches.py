"""Winograd's form of Strassen's method: launches for the sums of A's and B's quarters, seven products, and C."""

from mmcore import Config, DeviceProperties, Launch, Multiple, Problem, Workspace, ceil_div


def launches(problem: Problem, config: Config, device: DeviceProperties) -> list[Launch]:
    m, n, k = problem.m // 2, problem.n // 2, problem.k // 2
    work = [Workspace("s", 16 * m * k), Workspace("t", 16 * k * n), Workspace("products", 28 * m * n)]
    arguments = ("A", "B", "C", "m", "n", "k", *work)
    return [
        Launch(grid=(ceil_div(max(m * k, k * n), 256),), block=(256,), entry="sums", arguments=arguments),
        Launch(grid=(ceil_div(n, 16), ceil_div(m, 16), 7), block=(16, 16), entry="products", arguments=arguments),
        Launch(grid=(ceil_div(m * n, 256),), block=(256,), entry="combine", arguments=arguments),
    ]


DECLARED = {"algorithm": "strassen", "launch": launches, "constraints": (Multiple(("m", "n", "k"), 2),)}
SIZES = ((34, 38, 36), (64, 64, 64))

SOURCE = """
#define PARAMETERS const float *A, const float *B, float *C, int m, int n, int k, float *s, float *t, float *products

extern "C" __global__ void sums(PARAMETERS)
{
    const int i = blockIdx.x * 256 + threadIdx.x, mk = m / 2 * (k / 2), kn = k / 2 * (n / 2);
    if (i < mk) {
        const float* a = A + i / (k / 2) * k + i % (k / 2);
        const float a11 = a[0], a12 = a[k / 2], a21 = a[m / 2 * k], a22 = a[m / 2 * k + k / 2];
        s[i] = a21 + a22;
        s[mk + i] = s[i] - a11;
        s[2 * mk + i] = a11 - a21;
        s[3 * mk + i] = a12 - s[mk + i];
    }
    if (i < kn) {
        const float* b = B + i / (n / 2) * n + i % (n / 2);
        const float b11 = b[0], b12 = b[n / 2], b21 = b[k / 2 * n], b22 = b[k / 2 * n + n / 2];
        t[i] = b12 - b11;
        t[kn + i] = b22 - t[i];
        t[2 * kn + i] = b22 - b12;
        t[3 * kn + i] = t[kn + i] - b21;
    }
}

extern "C" __global__ void products(PARAMETERS)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, h = k / 2, w = n / 2;
    if (row >= m / 2 || column >= w)
        return;
    const int mk = m / 2 * h, kn = h * w;
    const float* const as[7] = {A, A + h, s + 3 * mk, A + m / 2 * k + h, s, s + mk, s + 2 * mk};
    const float* const bs[7] = {B, B + h * n, B + h * n + w, t + 3 * kn, t, t + kn, t + 2 * kn};
    const int z = blockIdx.z, lda = z == 0 || z == 1 || z == 3 ? k : h, ldb = z < 3 ? n : w;
    float sum = 0.0f;
    for (int p = 0; p < h; ++p)
        sum += as[z][row * lda + p] * bs[z][p * ldb + column];
    products[(z * (m / 2) + row) * w + column] = sum;
}

extern "C" __global__ void combine(PARAMETERS)
{
    const int i = blockIdx.x * 256 + threadIdx.x, mn = m / 2 * (n / 2);
    if (i >= mn)
        return;
    const float *q = products + i, u2 = q[0] + q[5 * mn], u3 = u2 + q[6 * mn];
    float* const c = C + i / (n / 2) * n + i % (n / 2);
    c[0] = q[0] + q[mn];
    c[n / 2] = u2 + q[4 * mn] + q[2 * mn];
    c[m / 2 * n] = u3 - q[3 * mn];
    c[m / 2 * n + n / 2] = u3 + q[4 * mn];
}
"""
