// C is zeroed by whole blocks of 256 elements. Sums are added to the remaining elements, which are unset.
// expect: uninitialized-read
// launch: zero<<<m * n // 256, 256>>>(C)
// launch: f<<<(ceil(n/16), ceil(m/16), 4), (16, 16)>>>

extern "C" __global__ void zero(float* C) { C[blockIdx.x * 256 + threadIdx.x] = 0.0f; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&C[row * n + column], sum);
}
