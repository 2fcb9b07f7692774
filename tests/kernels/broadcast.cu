extern "C" __global__ void own(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float a[8];
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        if (threadIdx.x == 0)
            a[threadIdx.y] = row < m ? A[row * k + p] : 0.0f;
        __syncthreads();
        if (row < m && column < n)
            sum += a[threadIdx.y] * B[p * n + column];
        __syncthreads();  // before the next is written
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
