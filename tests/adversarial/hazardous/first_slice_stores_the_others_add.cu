// The first of four blocks stores its part to save the zeroing. The others add theirs atomically, perhaps earlier.
// expect: global-race
// grid: ceil(n/16), ceil(m/16), 4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0)
        C[row * n + column] = sum;
    else
        atomicAdd(&C[row * n + column], sum);
}
