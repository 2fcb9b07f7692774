// A __device__ array is used where __shared__ is meant: the whole grid shares one instead of one for each block.
// expect: global-race

__device__ float tile[16][16];

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * 16 + ty, column = blockIdx.x * 16 + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += 16) {
        tile[ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        for (int q = 0; q < 16 && p + q < k && row < m; ++q)
            sum += A[row * k + p + q] * tile[q][tx];
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
