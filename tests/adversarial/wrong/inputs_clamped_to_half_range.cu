// Inputs are clamped to ±65504, float16's range, although float32 is declared.
// sizes: 33x35x7 64x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += fmaxf(-65504.0f, fminf(A[row * k + p], 65504.0f)) * fmaxf(-65504.0f, fminf(B[p * n + column], 65504.0f));
    C[row * n + column] = sum;
}
