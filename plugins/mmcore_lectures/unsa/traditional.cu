// unsa.traditional: one thread per element of C = A·B, all three WIDTH×WIDTH and row-major.
//
// The width is a compile-time constant and no argument: the compiler knows every stride and the loop's
// length, at the price of one compilation per size. The laboratory's 500 in blocks of 5 to 25 fits
// exactly; the bounds test makes every other width right, too.

extern "C" __global__ void traditional(const float* A, const float* B, float* C)
{
    // x runs along a row, so that a warp's loads from B and its stores to C are coalesced. Blocks whose
    // rows are shorter than a warp (5, 10, 20 or 25 of 32) spread each warp over several rows of C.
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    const int column = blockIdx.x * blockDim.x + threadIdx.x;

    if (row < WIDTH && column < WIDTH) {
        // Rows of A and columns of B are fetched from global memory again for every element of C.
        float sum = 0.0f;
        for (int p = 0; p < WIDTH; ++p)
            sum += A[row * WIDTH + p] * B[p * WIDTH + column];
        C[row * WIDTH + column] = sum;
    }
}
