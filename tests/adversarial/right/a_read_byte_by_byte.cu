// Each float of A is assembled from four single bytes, and each of B from two 16-bit halves.
// sizes: 17x19x21
// config: block=16x8

extern "C" __global__ void f(const unsigned char* A, const unsigned short* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        unsigned a = 0;
        for (int byte = 3; byte >= 0; --byte)
            a = a << 8 | A[4 * (row * k + p) + byte];
        const unsigned b = B[2 * (p * n + column)] | (unsigned)B[2 * (p * n + column) + 1] << 16;
        sum += __uint_as_float(a) * __uint_as_float(b);
    }
    C[row * n + column] = sum;
}
