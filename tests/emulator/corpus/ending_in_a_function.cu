// Threads may end in a function.
// P[t] = 0 if t < 16 and t % 3 == 0 else 2 * t + 1 if t < 16 else 1
__device__ __noinline__ int leave(int x) { if (x % 3 == 0) asm volatile("exit;"); return 2 * x; }
extern "C" __global__ void f(int* out) {
    if (threadIdx.x < 16) out[threadIdx.x] = leave(threadIdx.x);
    __syncthreads();
    out[threadIdx.x] += 1;
}
