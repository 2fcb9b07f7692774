// upc.kernel01: kernel00 for matrices of any size.
//
// C = A·B with C m×n, A m×k and B k×n, row-major: a row is n (in A: k) elements long, and that length is
// what turns (row, column) into an index. The grid is rounded up to whole blocks, so some of its threads
// lie outside C; a test keeps them from touching memory.

extern "C" __global__ void kernel01(const float* A, const float* B, float* C, int m, int n, int k)
{
    // x runs along a row, as in kernel00: coalesced in B and in C.
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;

    // The threads outside C idle until their block is done. At 641 in blocks of 32 that is the price of
    // one more row and column of blocks, in which 31 threads of every 32 have nothing to do.
    if (row < m && column < n) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
