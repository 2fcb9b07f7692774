// A function may change memory and return nothing.
// given: zeros(4)
// P = [2 * sum(range(0, 32, 2)) + sum(range(1, 32, 2)) + 8, 8, 8, 8]
__device__ __noinline__ void add(int* to, int what) { atomicAdd(to, what); }
__device__ __noinline__ void twice(int* to, int what) { add(to, what); if (what % 2) return; add(to, what); }
extern "C" __global__ void f(int* out) { twice(out, threadIdx.x); twice(out + threadIdx.x % 4, 1); }
