// Blocks are numbered from the last, and each thread steps down from the end of C by the number of threads.
// config: block=96
// grid: 3, 2

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const unsigned blocks = gridDim.x * gridDim.y, block = blocks - 1 - (blockIdx.y * gridDim.x + blockIdx.x);
    const unsigned stride = blocks * blockDim.x;
    for (unsigned i = m * n - 1 - block * blockDim.x - threadIdx.x; i < m * n; i -= stride) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[i / n * k + p] * B[p * n + i % n];
        C[i] = sum;
    }
}
