constexpr int SIDE = 32, BK = 4;
__global__ void __launch_bounds__(SIDE * 8) mul(float *A, float *B, float *C, int N) {
    float sum[BK];
    for (int i = threadIdx.x; i < SIDE * SIDE; i = i + 256)
        C[(blockIdx.y * SIDE + i / SIDE) * N + blockIdx.x * SIDE + i % SIDE] = A[i * N] * B[i * N];
}
