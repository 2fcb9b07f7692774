// Four blocks get the same number of tiles. Where 4 does not divide their number, the last tiles have no block.
// expect: unwritten-output
// grid: 4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int wide = (n + 15) / 16, tiles = wide * ((m + 15) / 16), share = tiles / gridDim.x;
    for (int tile = blockIdx.x * share; tile < (blockIdx.x + 1) * share; ++tile) {
        const int row = tile / wide * 16 + threadIdx.y, column = tile % wide * 16 + threadIdx.x;
        if (row >= m || column >= n)
            continue;
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
