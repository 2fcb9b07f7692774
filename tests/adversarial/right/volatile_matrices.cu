// A, B and C are volatile pointers, so that every element is loaded anew and C is read back after a write.

extern "C" __global__ void f(volatile const float* A, const volatile float* B, volatile float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    do
        C[row * n + column] = sum;
    while (C[row * n + column] != sum);
}
