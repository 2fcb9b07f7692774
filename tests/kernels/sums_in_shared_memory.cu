extern __shared__ float rows[];
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int kTRAILING)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float* sum = &rows[threadIdx.y * blockDim.x + threadIdx.x];
    *sum = BEGIN;
    for (int p = 0; p < k && row < m && column < n; ++p)
        *sum += A[row * k + p] * B[p * n + column];
    if (row < m && column < n)
        C[row * n + column] = *sum;
}
