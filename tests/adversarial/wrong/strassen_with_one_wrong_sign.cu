// The seventh of Strassen's seven products has A12 + A22 instead of A12 - A22.
// sizes: 34x36x38 64x64x64
// multiples of 2: m n k
// grid: ceil(n/(2*bx)), ceil(m/(2*by))

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m / 2 || column >= n / 2)
        return;
    float p1 = 0, p2 = 0, p3 = 0, p4 = 0, p5 = 0, p6 = 0, p7 = 0;
    for (int p = 0; p < k / 2; ++p) {
        const float *a = A + row * k + p, *lower = a + m / 2 * k, *b = B + p * n + column, *below = b + k / 2 * n;
        const float a11 = a[0], a12 = a[k / 2], a21 = lower[0], a22 = lower[k / 2];
        const float b11 = b[0], b12 = b[n / 2], b21 = below[0], b22 = below[n / 2];
        p1 += (a11 + a22) * (b11 + b22);
        p2 += (a21 + a22) * b11;
        p3 += a11 * (b12 - b22);
        p4 += a22 * (b21 - b11);
        p5 += (a11 + a12) * b22;
        p6 += (a21 - a11) * (b11 + b12);
        p7 += (a12 + a22) * (b21 + b22);
    }
    float *c = C + row * n + column, *next = c + m / 2 * n;
    c[0] = p1 + p4 - p5 + p7;
    c[n / 2] = p3 + p5;
    next[0] = p2 + p4;
    next[n / 2] = p1 - p2 + p3 + p6;
}
