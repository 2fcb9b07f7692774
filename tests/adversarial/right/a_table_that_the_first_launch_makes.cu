// The first launch makes a shuffled order of 256 terms and keeps it in a device variable for later launches.
// sizes: 17x19x37 7x5x300
// config: block=128
// grid: 1

__device__ unsigned char order[256];
__device__ bool made;

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    if (!made)
        for (int i = threadIdx.x; i < 256; i += 128)
            order[i] = i * 167 + 13;
    __syncthreads();
    if (threadIdx.x == 0)
        made = true;
    for (int i = threadIdx.x; i < m * n; i += 128) {
        float sum = 0.0f;
        for (int step = 0; step < k; step += 256)
            for (int j = 0; j < 256; ++j)
                if (const int p = step + order[j]; p < k)
                    sum += A[i / n * k + p] * B[p * n + i % n];
        C[i] = sum;
    }
}
