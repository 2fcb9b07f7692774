// poznan.v2: a grid of blocks, one thread per element of C = A·B, all three n×n and row-major.
//
// What v1's only block did one stamp after the other, the blocks of a grid do at the same time, on all
// the multiprocessors of the GPU. The work and the loads per element of C are the same.
//
// n must be a multiple of both of the block's edges: there is no bounds test.

extern "C" __global__ void v2(const float* A, const float* B, float* C, int n)
{
    // x along a row: coalesced in B and C. How many transactions a warp costs depends on the block: rows
    // of 8 make it reach into four rows of C, rows of 22 make it straddle two or three and leave the
    // last warp partly empty.
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;

    float sum = 0.0f;
    for (int p = 0; p < n; ++p)
        sum += A[row * n + p] * B[p * n + column];  // both from global memory, 2n loads in all

    C[row * n + column] = sum;
}
