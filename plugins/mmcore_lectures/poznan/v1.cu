// poznan.v1: a single block of threads computes the whole of C = A·B, all three n×n and row-major.
//
// The block is laid on C like a stamp, moved along the rows and then down, until it has been everywhere:
// each thread computes (n / blockDim.x) · (n / blockDim.y) elements, one after the other. Only one
// multiprocessor of the GPU works; all the others stand idle. That is the point of this version: what a
// kernel loses without a grid.
//
// n must be a multiple of both of the block's edges: what is left over is not computed.

extern "C" __global__ void v1(const float* A, const float* B, float* C, int n)
{
    const int stamps_down = n / blockDim.y;
    const int stamps_across = n / blockDim.x;

    for (int i = 0; i < stamps_down; ++i) {
        for (int j = 0; j < stamps_across; ++j) {
            // x runs along a row of C in every stamp: neighbouring threads, neighbouring elements of B
            // and C.
            const int row = i * blockDim.y + threadIdx.y;
            const int column = j * blockDim.x + threadIdx.x;

            float sum = 0.0f;
            for (int p = 0; p < n; ++p)
                sum += A[row * n + p] * B[p * n + column];
            C[row * n + column] = sum;
        }
    }
}
