// Thread 0 divides the two scales for the whole block. The other threads read the quotient without a barrier.
// expect: shared-race
// arguments: A, B, C, m, n, k, 3.0f, 3.0f

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float up, float down)
{
    __shared__ float scale;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        scale = up / down;
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = scale * sum;
}
