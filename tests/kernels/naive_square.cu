__global__ void mul(float *A, float *B, float *C, int N) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, col = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= N || col >= N) return;
    float sum = 0;
    for (int i = 0; i < N; i++) sum += A[row * N + i] * B[i * N + col];
    C[row * N + col] = sum;
}
