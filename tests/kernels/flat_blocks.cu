__global__ void flat(float* A, float* B, float* C, int rows, int n, int k) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int p = 0; i < rows * n && p < k; ++p) sum += A[i / n * k + p] * B[p * n + i % n];
    if (i < rows * n) C[i] = sum;
}
int main() { flat<<<(rows * n + 63) / 64, 64, 4 * 64>>>(A, B, C, rows, n, k); }
