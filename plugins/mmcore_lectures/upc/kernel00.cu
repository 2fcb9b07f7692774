// upc.kernel00: one thread per element of C, and nothing else.
//
// C = A·B, all three n×n and row-major: the element at (row, column) has index row * n + column. No
// thread asks whether it has an element to compute, so the grid must cover C exactly. With one block too
// few, a strip of C stays unwritten; with one too many, threads beyond C read and write what is not
// theirs.

extern "C" __global__ void kernel00(const float* A, const float* B, float* C, int n)
{
    // A warp is made of threads that follow each other along x. Letting x run along a row of C makes
    // them neighbours in memory as well, in B and in C: their accesses are coalesced.
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;

    // Two loads for every multiply and add: each row of A is read once for every column of C, each
    // column of B once for every row. The kernel waits for memory, not for arithmetic.
    float sum = 0.0f;
    for (int p = 0; p < n; ++p)
        sum += A[row * n + p] * B[p * n + column];  // A: one element for the whole row of threads

    C[row * n + column] = sum;
}
