// hpsee.simple: one thread per element of C = A·B, all three n×n and row-major.
//
// One width n serves as every row's length and as the bound of both coordinates.

extern "C" __global__ void simple(const float* A, const float* B, float* C, int n)
{
    // x runs along a row: the threads of a warp load neighbours from B and store neighbours to C, while
    // from A they all load the same element. Coalesced, yet all of its 2n loads go to global memory.
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;

    // The grid is rounded up to whole blocks; threads beyond the last row or column have nothing to do.
    if (row < n && column < n) {
        float sum = 0.0f;
        for (int p = 0; p < n; ++p)
            sum += A[row * n + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
