// The next elements of A and B are loaded a step ahead, finally past the end of both, as declared, and not used.
// over-read: A 1, B n

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float a = A[row * k], b = B[column], sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float next_a = *(volatile const float*)&A[row * k + p + 1];
        const float next_b = *(volatile const float*)&B[(p + 1) * n + column];
        sum += a * b;
        a = next_a;
        b = next_b;
    }
    C[row * n + column] = sum;
}
