// Sums saturate at ±2^24, the end of the range of whole numbers that are exact in float32.
// sizes: 33x35x37 64x64x7

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        sum += A[row * k + p] * B[p * n + column];
        sum = fmaxf(-16777216.0f, fminf(sum, 16777216.0f));
    }
    C[row * n + column] = sum;
}
