extern "C" __global__ void own(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    for (int row = blockIdx.y * 64; row < blockIdx.y * 64 + 64; ++row) {
        if (row >= m || column >= n)
            return;
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
        C[row * n + column] = sum;
    }
}
