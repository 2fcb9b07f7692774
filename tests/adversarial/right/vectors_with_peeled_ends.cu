// A row of A is read as float4 from its first address that is a multiple of 16, with single floats before and after.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const float* a = A + (size_t)row * k;
    const int peeled = min(k, (int)((16 - (size_t)a % 16) % 16 / 4));
    float sum = 0.0f;
    int p = 0;
    for (; p < peeled; ++p)
        sum += a[p] * B[p * n + column];
    for (; p + 4 <= k; p += 4) {
        const float4 four = *reinterpret_cast<const float4*>(a + p);
        sum += four.x * B[p * n + column];
        sum += four.y * B[(p + 1) * n + column];
        sum += four.z * B[(p + 2) * n + column];
        sum += four.w * B[(p + 3) * n + column];
    }
    for (; p < k; ++p)
        sum += a[p] * B[p * n + column];
    C[row * n + column] = sum;
}
