// Each thread stores one byte. After a barrier words of four bytes are read.

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ union {
        unsigned char bytes[256];
        unsigned words[64];
    } outside;
    const int t = threadIdx.y * 16 + threadIdx.x;
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    outside.bytes[t] = row >= m || column >= n ? 0xff : 0;
    __syncthreads();
    if (outside.words[t / 4] >> t % 4 * 8 & 1)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
