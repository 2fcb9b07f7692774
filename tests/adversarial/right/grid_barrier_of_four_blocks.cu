// Four blocks transpose B in a workspace, wait for each other at an atomic counter, and read the whole of it.
// config: block=256
// workspace: turned 4 * n * k
// launch: f<<<4, block>>>(A, B, C, m, n, k, turned)

__device__ unsigned arrived;  // a multiple of 4 between launches

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* turned)
{
    const int t = blockIdx.x * 256 + threadIdx.x;
    for (int i = t; i < n * k; i += 1024)
        turned[i % n * k + i / n] = B[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned all = (atomicAdd(&arrived, 1u) / 4 + 1) * 4;
        while ((int)(*(volatile unsigned*)&arrived - all) < 0)
            ;
        __threadfence();
    }
    __syncthreads();
    for (int i = t; i < m * n; i += 1024) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p)
            sum += A[i / n * k + p] * turned[i % n * k + p];
        C[i] = sum;
    }
}
