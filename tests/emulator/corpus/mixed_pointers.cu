// A pointer may point to shared memory in one thread and to global memory in the next.
// given: zeros(64), np.arange(32, dtype=i32)
// P[:32] = [131 - t if t % 3 else t for t in T]
// P[32:] = [7 if (31 - t) % 3 else 100 + t for t in T]
// Q[t] = t if t % 3 else 7
extern "C" __global__ void f(int* out, int* data) {
    __shared__ int near[32];
    near[threadIdx.x] = 100 + threadIdx.x;
    __syncthreads();
    int* chosen = data[threadIdx.x] % 3 ? &near[31 - threadIdx.x] : &data[threadIdx.x];
    out[threadIdx.x] = *(volatile int*)chosen;
    *(volatile int*)chosen = 7;
    __syncthreads();
    out[32 + threadIdx.x] = near[threadIdx.x];
}
