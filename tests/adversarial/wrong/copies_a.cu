// C is filled with elements of A, at the speed of memory.
// sizes: 64x64x64 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    C[row * n + column] = A[row * k + column % k];
}
