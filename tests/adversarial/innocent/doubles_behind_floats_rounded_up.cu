// Dynamic shared memory holds a row of floats followed by doubles, whose offset is rounded up to a multiple of 8.
// sizes: 4x40x6 4x40x7
// config: block=32x1
// launch: f<<<m, 32, 4 * (k + k % 2) + 256>>>

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    extern __shared__ __align__(16) float a[];
    double* sums = (double*)(a + (k + 1) / 2 * 2);
    const int row = blockIdx.x, t = threadIdx.x;
    for (int p = t; p < k; p += 32)
        a[p] = A[row * k + p];
    __syncthreads();
    for (int column = t; column < n; column += 32) {
        sums[t] = 0.0;
        for (int p = 0; p < k; ++p)
            sums[t] += (double)a[p] * B[p * n + column];
        C[row * n + column] = sums[t];
    }
}
