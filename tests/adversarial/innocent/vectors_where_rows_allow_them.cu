// A is loaded as float4 where 4 divides k, so that every row begins at a multiple of 16 bytes, and else singly.
// sizes: 20x20x24 20x20x26

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    if (k % 4 == 0) {
        for (int p = 0; p < k; p += 4) {
            const float4 a = *(const float4*)&A[row * k + p];
            sum += a.x * B[p * n + column] + a.y * B[(p + 1) * n + column] + a.z * B[(p + 2) * n + column] +
                   a.w * B[(p + 3) * n + column];
        }
    } else {
        for (int p = 0; p < k; ++p)
            sum += A[row * k + p] * B[p * n + column];
    }
    C[row * n + column] = sum;
}
