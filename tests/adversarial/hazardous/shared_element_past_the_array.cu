// The next element of A's tile is loaded one step ahead, even in the tile's last step, past the array's end.
// expect: out-of-bounds-read

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float b[T][T];
    __shared__ volatile float a[T * T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float sum = 0.0f;
    for (int p = 0; p < k; p += T) {
        a[ty * T + tx] = row < m && p + tx < k ? A[row * k + p + tx] : 0.0f;
        b[ty][tx] = p + ty < k && column < n ? B[(p + ty) * n + column] : 0.0f;
        __syncthreads();
        float now = a[ty * T];
        for (int q = 0; q < T; ++q) {
            const float next = a[ty * T + q + 1];
            sum += now * b[q][tx];
            now = next;
        }
        __syncthreads();
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
