// mmcore.kernel1_columns: lezione9.kernel1 with x counting columns. mmcore's own, not the lecture's.
//
// C = C + A·B in double precision, with C m×n, A m×k and B k×n, row-major; the sizes arrive in the order
// m, k, n. Every thread does what it does in lezione9.kernel1. Only which thread computes which element is
// different: threads next to each other work in columns next to each other, whose elements are neighbours
// in memory.
//
// n must be a multiple of blockDim.x and m of blockDim.y: there is no bounds test.

extern "C" __global__ void kernel1_columns(const double* A, const double* B, double* C, int m, int k, int n)
{
    const int column = blockDim.x * blockIdx.x + threadIdx.x;
    const int row = blockDim.y * blockIdx.y + threadIdx.y;

    double sum = C[row * n + column];

    // In a block 32 wide the whole warp needs one element of A, which is broadcast, and 32 elements of B
    // in a row: eight sectors instead of thirty-two.
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];

    C[row * n + column] = sum;
}
