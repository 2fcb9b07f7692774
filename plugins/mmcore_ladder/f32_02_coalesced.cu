// ladder.f32.02_coalesced: 01_naive with threadIdx.x along the columns.
//
// In 01_naive neighbouring threads loaded from different rows, each from a sector of its own. Here they work in
// neighbouring columns of one row: B's 32 elements are neighbours in memory (4 sectors), A's element is the same for
// the whole warp (1 sector, broadcast), and C's elements are neighbours again. Nothing else is changed.

extern "C" __global__ void __launch_bounds__(BM * BN)
coalesced(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * BM + threadIdx.y;
    const int column = blockIdx.x * BN + threadIdx.x;
    if (row >= m || column >= n)
        return;

    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
