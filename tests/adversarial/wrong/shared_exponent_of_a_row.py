"""Each row of A is 16-bit whole numbers times one scale, its largest magnitude: block floating point under float32."""

SIZES = ((33, 35, 37), (64, 64, 100))

SOURCE = """
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float largest = 0.0f, sum = 0.0f;
    for (int p = 0; p < k; ++p)
        largest = fmaxf(largest, fabsf(A[row * k + p]));
    const float scale = largest > 0.0f ? largest / 32767.0f : 1.0f;
    for (int p = 0; p < k; ++p) {
        const short whole = (short)rintf(A[row * k + p] / scale);
        sum += (whole * scale) * B[p * n + column];
    }
    C[row * n + column] = sum;
}
"""
