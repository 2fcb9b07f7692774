// lezione9.kernel1: one thread per element of C, with x counting rows.
//
// C = C + A·B in double precision, with C m×n, A m×k and B k×n, row-major; the sizes arrive in the order
// m, k, n. On paper the first index of a matrix is its row, and here it is x. In memory that is the wrong
// way round: the threads of a warp follow each other along x, so neighbouring threads work in
// neighbouring rows, which lie a whole row's length apart.
//
// m must be a multiple of blockDim.x and n of blockDim.y: there is no bounds test.

extern "C" __global__ void kernel1(const double* A, const double* B, double* C, int m, int k, int n)
{
    const int row = blockDim.x * blockIdx.x + threadIdx.x;
    const int column = blockDim.y * blockIdx.y + threadIdx.y;

    // Starting from C's old value gives C + A·B without another pass. 32 threads, 32 rows of C: not
    // coalesced.
    double sum = C[row * n + column];

    // 2k loads for 2k flops. In a block 32 wide the whole warp needs one element of B, which is
    // broadcast, and one element from each of 32 rows of A, each of them a memory sector of its own.
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];

    C[row * n + column] = sum;
}
