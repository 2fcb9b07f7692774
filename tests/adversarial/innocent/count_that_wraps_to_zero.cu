// A __device__ counter for each element is zero at the start. The last atomicInc resets it to zero.
// sizes: 33x35x37 40x40x20
// grid: ceil(n/16), ceil(m/16), 3

#define MOST 2048
__device__ float parts[3][MOST];
__device__ unsigned counts[MOST];

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x, i = row * n + column;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    parts[blockIdx.z][i] = sum;
    __threadfence();
    if (atomicInc(&counts[i], 2) == 2) {
        __threadfence();
        C[i] = parts[0][i] + parts[1][i] + parts[2][i];
    }
}
