// Two threads compute half a sum each, and both store to the same element: one half is lost.
// config: block=16x16x2

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const int half = (k + 1) / 2, begin = threadIdx.z * half, end = min(begin + half, k);
    float sum = 0.0f;
    for (int p = begin; p < end; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
