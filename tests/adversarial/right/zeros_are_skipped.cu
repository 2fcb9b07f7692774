// Rows of A that are all zero give zeros at once, and single zeros of A are skipped: the sums remain the same.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    int first = 0;
    while (first < k && A[row * k + first] == 0.0f)
        ++first;
    if (first == k) {
        C[row * n + column] = 0.0f;
        return;
    }
    float sum = A[row * k + first] * B[first * n + column];
    for (int p = first + 1; p < k; ++p) {
        const float a = A[row * k + p];
        if (a == 0.0f)
            continue;
        sum += a * B[p * n + column];
    }
    C[row * n + column] = sum;
}
