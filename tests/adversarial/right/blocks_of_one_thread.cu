// Every element of C has a block of a single thread, in a grid of three dimensions, with a barrier for one thread.
// sizes: 7x10x11 12x12x12
// config: block=1
// grid: 3, m, ceil(n/3)

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.z * gridDim.x + blockIdx.x;
    if (column >= n)
        return;
    __shared__ float sum;  // of a block of one thread: nobody to wait for
    sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        sum += A[row * k + p] * B[p * n + column];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
