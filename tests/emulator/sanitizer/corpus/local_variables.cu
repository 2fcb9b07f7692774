// A pointer to a thread's local variable goes to another thread, for which it leads elsewhere.
// launch: block=64
// through shared memory: BODY `where[t] = mine + k; __syncthreads(); C[t] = *where[t ^ 1];` ==> local-of-another*64 local
//     #body "its own local memory"
// a write through shared memory: BODY `where[t] = mine + k; __syncthreads(); *where[t ^ 32] = A[t]; __syncthreads();
//     C[t] = mine[k];` ==> local-of-another*64 local #body
// by a shuffle: BODY `float* other = (float*)__shfl_xor_sync(~0u, (long long)(mine + k), 1); C[t] = *other;` ==>
//     local-of-another*64 local #body
// an atomic: BODY `where[t] = mine + k; __syncthreads(); if (t > 59) atomicAdd(where[t - 3], 1.0f); __syncthreads(); C[t]
//     = mine[k];` ==> local-of-another*4 local #body
// a thread's own: BODY `where[t] = mine + k; __syncthreads(); *where[t] += 1; C[t] = mine[k];|float* own =
//     (float*)__shfl_sync(~0u, (long long)(mine + k), t % 32); C[t] = *own;` ==> nothing
// to a function: BODY `C[t] = sum_of(mine, 2) + __isLocal(mine + k);` ==> nothing
__device__ __noinline__ float sum_of(const float* p, int n) { float s = 0; for (int i = 0; i < n; ++i) s += p[i]; return s; }
extern "C" __global__ void f(const float* A, float* C, int k) {
    __shared__ float* where[64];
    const int t = threadIdx.x;
    float mine[2];
    k %= 2;
    mine[k] = A[t];
    mine[1 - k] = 0;
    BODY // #body
}
