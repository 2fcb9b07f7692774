extern "C" __global__ void f(const float* A, const float* B, OUT* C, int m, int n, int k LEADING) {
    int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    OUT sum = 0;
    for (int p = 0; row < m && column < n && p < k; ++p) sum += A[row * lda + p] * B[p * ldb + column];
    if (row < m && column < n) C[row * ldc + column] = sum;
}
