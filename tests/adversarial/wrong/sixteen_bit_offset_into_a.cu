// Offsets into A are unsigned 16-bit numbers, which overflow from 65536 elements on.
// sizes: 64x16x100 700x16x100

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const unsigned short offset = row * k + p;
        sum += A[offset] * B[p * n + column];
    }
    C[row * n + column] = sum;
}
