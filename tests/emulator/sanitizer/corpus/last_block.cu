// The block that counts itself as the last one adds up what all have stored.
// launch: block=64 grid=3 parts=768 count=4*0
// no fence before the sum ==> missing-fence*64 parts #sum #part "__threadfence()"
// volatile parts: `float* parts` -> `volatile float* parts` ==> missing-fence*64 parts #sum #part
// a fence before the sum: `__syncthreads(); // #counted` -> `__syncthreads(); __threadfence();` ==> nothing
// a fence of the thread that counts: `== 2;` -> `== 2, __threadfence();` ==> nothing
// an atomic that acquires: `atomicAdd(count, 1)` -> `added(count)` ==> nothing
// no fence before the count: drop #fence ==> global-race*64 parts #sum #part
// no barrier before the count: `__syncthreads(); // #stored` -> `` ==> global-race parts #sum #part; missing-fence parts
//     #sum #part
// a count awaited without a fence: `last = atomicAdd(count, 1) == 2;` -> `{ atomicAdd(count, 1); while
//     (atomicAdd(count, 0) < 3); last = blockIdx.x == 0; }` ==> global-race*64 parts #sum #part "no order"
__device__ int added(int* count) {
    int before;
    asm volatile("atom.acq_rel.gpu.add.s32 %0, [%1], 1;" : "=r"(before) : "l"(count) : "memory");
    return before;
}
extern "C" __global__ void f(const float* A, float* C, float* parts, int* count) {
    __shared__ bool last;
    const int t = threadIdx.x;
    parts[blockIdx.x * 64 + t] = A[t]; // #part
    __threadfence(); // #fence
    __syncthreads(); // #stored
    if (t == 0) last = atomicAdd(count, 1) == 2;
    __syncthreads(); // #counted
    if (last) C[t] = parts[t] + parts[64 + t] + parts[128 + t]; // #sum
}
