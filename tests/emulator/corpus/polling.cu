// Blocks that poll let the others run.
// given: zeros(64)
// launch: grid=(4,), block=(16,)
// P[t] = 7 + t // 16
__device__ volatile int flag[4];
extern "C" __global__ void f(int* out) {
    if (threadIdx.x == 0 && blockIdx.x > 0)
        while (flag[blockIdx.x - 1] == 0)
            ;
    __syncthreads();
    out[blockIdx.x * blockDim.x + threadIdx.x] = blockIdx.x ? out[(blockIdx.x - 1) * blockDim.x + threadIdx.x] + 1 : 7;
    __threadfence();
    __syncthreads();
    if (threadIdx.x == 0) flag[blockIdx.x] = 1;
}
