// A barrier and shared memory in a function are those of the block.
// given: zeros(64)
// launch: block=(64,)
// P[t] = 100 * (63 - t) + (63 - t) % 8
// run.run.translation.layout.shared_bytes = 256
__device__ __noinline__ int turned(int x) {
    __shared__ int s[64];
    s[threadIdx.x] = x;
    __syncthreads();
    const int y = s[63 - threadIdx.x];
    __syncthreads();
    return y;
}
extern "C" __global__ void f(int* out) {
    out[threadIdx.x] = 100 * turned(threadIdx.x) + turned(threadIdx.x % 8);
}
