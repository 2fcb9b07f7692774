extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0.0f;
    for (int p = 0; row < m && column < n && p < k; ++p) sum += A[row * k + p] * B[p * n + column];
    if (row < m && column < n) C[row * n + column] = sum;
}
