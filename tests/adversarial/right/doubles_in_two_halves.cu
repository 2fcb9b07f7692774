// A double of A is staged in shared memory as two 32-bit words in two arrays.
// kernel: dtype=float64

extern "C" __global__ void f(const double* A, const double* B, double* C, int m, int n, int k)
{
    __shared__ int low[16][17], high[16][17];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    double sum = 0.0;
    for (int step = 0; step < k; step += 16) {
        const double a = row < m && step + x < k ? A[row * k + step + x] : 0.0;
        low[y][x] = __double2loint(a);
        high[y][x] = __double2hiint(a);
        __syncthreads();
        for (int p = 0; column < n && p < min(16, k - step); ++p)
            sum += __hiloint2double(high[y][p], low[y][p]) * B[(step + p) * n + column];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
