__global__ void gemm(const float* A, const float* B, float* C, int m, int n, int k)
{
    int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x;
    float sum = 0;
    for (int p = lane; p < k; p += 32)
        sum += A[row * k + p] * B[p * n + column];
    for (int d = 16; d; d /= 2)
        sum += __shfl_down_sync(0xffffffff, sum, d);
    if (lane == 0) C[row * n + column] = sum;
}
