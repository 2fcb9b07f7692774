// Unsigned 32-bit indices wrap below zero and back: i - n, then + n, modulo 2^32, before any access.

extern "C" __global__ void f(const float* A, const float* B, float* C, unsigned m, unsigned n, unsigned k)
{
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    unsigned a = row * k - 1u, b = column - n;
    float sum = 0.0f;
    for (unsigned p = 0u - k; p != 0; ++p)
        sum += A[++a] * B[b += n];
    C[row * n + column] = sum;
}
