// ladder.f32.01_naive: a thread computes one element of C, as one writes it down first.
//
// C = A·B with C m×n, A m×k and B k×n, stored by rows. threadIdx.x counts rows, the first index of a matrix, so that
// the threads of a warp work in 32 rows of one column. In memory these rows lie a whole row's length apart: the warp's
// load of A touches 32 sectors of 32 bytes for 32 floats, and so does its store to C.

extern "C" __global__ void __launch_bounds__(BM * BN)
naive(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.x * BM + threadIdx.x;
    const int column = blockIdx.y * BN + threadIdx.y;
    // The grid is rounded up to whole blocks: threads beyond C's last row or column have nothing to do.
    if (row >= m || column >= n)
        return;

    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
