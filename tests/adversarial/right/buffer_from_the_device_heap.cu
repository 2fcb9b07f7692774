// The first thread of a block allocates a buffer by malloc on the device, all threads use it, and it is freed.
// not on: emulator
// config: block=64
// grid: 4

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float* line;
    const int t = threadIdx.x;
    if (t == 0)
        line = (float*)malloc(k * sizeof(float));
    __syncthreads();
    if (line == nullptr)
        return;
    for (int row = blockIdx.x; row < m; row += gridDim.x) {
        for (int p = t; p < k; p += 64)
            line[p] = A[row * k + p];
        __syncthreads();
        for (int column = t; column < n; column += 64) {
            float sum = 0.0f;
            for (int p = 0; p < k; ++p)
                sum += line[p] * B[p * n + column];
            C[row * n + column] = sum;
        }
        __syncthreads();
    }
    if (t == 0)
        free(line);
}
