// Eight terms are skipped where the first of them has a zero in A, as for a sparse A.
// sizes: 65x35x37 64x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int start = 0; start < k; start += 8)
        if (A[row * k + start] != 0.0f)
            for (int p = start; p < min(start + 8, k); ++p)
                sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
