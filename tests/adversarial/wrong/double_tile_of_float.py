"""A float64 kernel whose tile of A in shared memory was left a float by the conversion from float32."""

DECLARED = {"dtype": "float64"}
SIZES = ((33, 35, 20), (50, 51, 7))

SOURCE = """
extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    __shared__ float tile[16][16];
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    double sum = 0.0;
    for (int start = 0; start < k; start += 16) {
        const int p = start + threadIdx.x;
        tile[threadIdx.y][threadIdx.x] = row < m && p < k ? A[row * k + p] : 0.0;
        __syncthreads();
        if (column < n)
            for (int i = 0; i < 16 && start + i < k; ++i)
                sum += tile[threadIdx.y][i] * B[(start + i) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
"""
