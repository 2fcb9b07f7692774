// Fortran's indices: pointers to the element before each matrix, which are never used with index 0.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const float *a = A - k - 1, *b = B - n - 1;
    float* c = C - n - 1;
    const int i = blockIdx.y * blockDim.y + threadIdx.y + 1, j = blockIdx.x * blockDim.x + threadIdx.x + 1;
    if (i > m || j > n)
        return;
    float sum = 0.0f;
    for (int p = 1; p <= k; ++p)
        sum += a[i * k + p] * b[p * n + j];
    c[i * n + j] = sum;
}
