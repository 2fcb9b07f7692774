// A ring of local variables is filled in its first round and added to later. Only filled elements are used.
// sizes: 33x35x37 20x20x3

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float part[5];
    for (int p = 0; p < k; ++p) {
        const float product = A[row * k + p] * B[p * n + column];
        part[p % 5] = p < 5 ? product : part[p % 5] + product;
    }
    float sum = 0.0f;
    for (int i = 0; i < min(5, k); ++i)
        sum += part[i];
    C[row * n + column] = sum;
}
