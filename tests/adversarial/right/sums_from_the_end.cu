// The sum begins with the last element of k and ends with the first; a pointer walks A backwards.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const float *a = A + (row + 1) * k, *b = B + k * n + column;
    float sum = -0.0f;
    while (a > A + row * k) {
        b -= n;
        sum += *--a * *b;
    }
    C[row * n + column] = sum;
}
