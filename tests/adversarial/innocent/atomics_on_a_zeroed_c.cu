// Four blocks add their parts to C by atomicAdd in float64, after a launch that sets C to zero.
// kernel: dtype=float64
// launch: zero<<<ceil(m * n / 256), 256>>>(C, m * n)
// launch: f<<<(ceil(n/16), ceil(m/16), 4), (16, 16)>>>

extern "C" __global__ void zero(double* C, int count)
{
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count)
        C[i] = 0.0;
}

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    double sum = 0.0;
    for (int p = blockIdx.z; p < k; p += 4)
        sum += A[row * k + p] * B[p * n + column];
    atomicAdd(&C[row * n + column], sum);
}
