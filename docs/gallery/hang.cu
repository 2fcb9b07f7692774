// All threads wait for a flag that no thread of a block of 16×16 sets.
__global__ void hang(const float *A, const float *B, float *C, int n)
{
    __shared__ volatile int ready;
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0 && threadIdx.y == 0)
        ready = 0;
    __syncthreads();
    if (threadIdx.y == 16)
        ready = 1;
    while (!ready) {}
    if (row >= n || column >= n)
        return;
    float sum = 0;
    for (int p = 0; p < n; ++p)
        sum += A[row * n + p] * B[p * n + column];
    C[row * n + column] = sum;
}
