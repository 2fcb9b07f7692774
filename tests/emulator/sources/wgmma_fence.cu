// A plain product, with an instruction of compute capability 9.0.
extern "C" __global__ void multiply(const float* A, const float* B, float* C, int m, int n, int k) {
    asm volatile("wgmma.fence.sync.aligned;");
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row < m && column < n) {
        float sum = 0;
        for (int i = 0; i < k; ++i) sum += A[row * k + i] * B[i * n + column];
        C[row * n + column] = sum;
    }
}
