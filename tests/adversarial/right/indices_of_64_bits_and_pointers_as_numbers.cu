// Sizes are 64-bit integers, addresses are computed as numbers, and their lowest bit marks the end of a row.

extern "C" __global__ void f(const float* A, const float* B, float* C, long long m, long long n, size_t k)
{
    const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
    const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    unsigned long long a = (unsigned long long)A + 4 * row * k, b = (unsigned long long)B + 4 * column;
    const unsigned long long end = a + 4 * k;
    float sum = 0.0f;
    while (!(a & 1)) {
        sum += *(const float*)a * *(const float*)b;
        a += 4;
        b += 4 * n;
        a |= a == end;
    }
    *(float*)((unsigned long long)C + 4 * (row * n + column)) = sum;
}
