// One term in a thousand is omitted, chosen by a hash of row, column and p.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        if ((row * 73856093u ^ column * 19349663u ^ p * 83492791u) % 1000 != 0)
            sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
