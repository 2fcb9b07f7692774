// Rows of A pass through a __device__ array that every launch refills, found by another variable that points to it.
// not on: emulator
// config: block=64
// grid: m

__device__ float rows[256][128];
__device__ float (*base)[128] = rows;

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    float* const line = base[blockIdx.x];
    for (int column = threadIdx.x; column < n; column += 64)
        C[blockIdx.x * n + column] = 0.0f;
    for (int step = 0; step < k; step += 128) {
        __syncthreads();
        for (int p = threadIdx.x; p < min(128, k - step); p += 64)
            line[p] = A[blockIdx.x * k + step + p];
        __syncthreads();
        for (int column = threadIdx.x; column < n; column += 64) {
            float sum = C[blockIdx.x * n + column];
            for (int p = 0; p < min(128, k - step); ++p)
                sum += line[p] * B[(step + p) * n + column];
            C[blockIdx.x * n + column] = sum;
        }
    }
}
