// Threads of a block add to the same element of C in turn: __syncthreads() orders global memory too.
// config: block=16x4
// grid: ceil(n/16), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y;
    for (int turn = 0; turn < 4; ++turn) {
        // The thread of (x, y) has a column in each turn, and a quarter of k; both move.
        const int column = blockIdx.x * 16 + (x + 5 * turn) % 16;
        if (y == (turn * 3 + 1) % 4 && column < n) {
            float sum = turn ? C[row * n + column] : 0.0f;
            for (int p = turn; p < k; p += 4)
                sum += A[row * k + p] * B[p * n + column];
            C[row * n + column] = sum;
        }
        __syncthreads();
    }
}
