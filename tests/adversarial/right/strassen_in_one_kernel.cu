// Strassen's seven products replace eight for each 2 by 2 of C and two terms of k, with larger errors.
// config: block=8x8
// kernel: algorithm=strassen
// grid: ceil(n/16), ceil(m/16)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = 2 * (blockIdx.y * blockDim.y + threadIdx.y), column = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
    if (row >= m || column >= n)
        return;
    const bool down = row + 1 < m, right = column + 1 < n;
    float s[7] = {};
    for (int p = 0; p < k; p += 2) {
        const bool more = p + 1 < k;
        const float *a = A + row * k + p, *b = B + p * n + column;
        const float a11 = a[0], a12 = more ? a[1] : 0, a21 = down ? a[k] : 0, a22 = down && more ? a[k + 1] : 0;
        const float b11 = b[0], b12 = right ? b[1] : 0, b21 = more ? b[n] : 0, b22 = right && more ? b[n + 1] : 0;
        s[0] += (a11 + a22) * (b11 + b22);
        s[1] += (a21 + a22) * b11;
        s[2] += a11 * (b12 - b22);
        s[3] += a22 * (b21 - b11);
        s[4] += (a11 + a12) * b22;
        s[5] += (a21 - a11) * (b11 + b12);
        s[6] += (a12 - a22) * (b21 + b22);
    }
    float* const c = C + row * n + column;
    c[0] = s[0] + s[3] - s[4] + s[6];
    if (right)
        c[1] = s[2] + s[4];
    if (down)
        c[n] = s[1] + s[3];
    if (down && right)
        c[n + 1] = s[0] - s[1] + s[2] + s[5];
}
