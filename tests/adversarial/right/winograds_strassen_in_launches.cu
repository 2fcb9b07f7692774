// Winograd's form of Strassen's method: launches for the sums of A's and B's quarters, seven products, and C.
// sizes: 34x38x36 64x64x64
// kernel: algorithm=strassen
// multiples of 2: m n k
// workspace: s 16 * (m // 2) * (k // 2), t 16 * (k // 2) * (n // 2), products 28 * (m // 2) * (n // 2)
// launch: sums<<<ceil(max(m // 2 * (k // 2), k // 2 * (n // 2)) / 256), 256>>>(A, B, C, m, n, k, s, t, products)
// launch: products<<<(ceil(n // 2 / 16), ceil(m // 2 / 16), 7), (16, 16)>>>(A, B, C, m, n, k, s, t, products)
// launch: combine<<<ceil(m // 2 * (n // 2) / 256), 256>>>(A, B, C, m, n, k, s, t, products)

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
