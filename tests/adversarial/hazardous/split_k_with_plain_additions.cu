// Four blocks add their parts of a sum to C by += instead of atomicAdd, after a launch that zeroes C.
// expect: global-race
// launch: zero<<<ceil(m * n / 256), 256>>>(C, m * n)
// launch: f<<<(ceil(n/16), ceil(m/16), 4), (16, 16)>>>

extern "C" __global__ void zero(float* C, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        C[i] = 0.0f;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] += sum;
}
