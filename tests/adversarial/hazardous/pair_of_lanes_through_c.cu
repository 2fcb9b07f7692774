// The even lane stores its half of the sum in C, and the odd lane adds to it without __syncwarp.
// expect: global-race
// sizes: 5x40x30
// config: block=32
// grid: ceil(n/16), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y, column = blockIdx.x * 16 + threadIdx.x / 2, half = threadIdx.x % 2;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = half; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (half == 0)
        C[row * n + column] = sum;
    if (half == 1)
        C[row * n + column] += sum;
}
