// A block stages its tiles of A in its own tile of C, with barriers, and stores the sums there at the end.
// sizes: 48x32x37 64x64x64
// multiples of 16: m n

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    const float* const staged = &C[row * n + blockIdx.x * 16];
    float sum = 0.0f;
    for (int step = 0; step < k; step += 16) {
        C[row * n + column] = step + x < k ? A[row * k + step + x] : 0.0f;
        __syncthreads();
        for (int p = 0; p < min(16, k - step); ++p)
            sum += staged[p] * B[(step + p) * n + column];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
