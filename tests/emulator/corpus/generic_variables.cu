// A generic address may be in a variable, a constant or shared memory.
// given: zeros(32), i32(1)
// P[t] = (2, 20, 3)[t % 3]
__device__ int table[2] = {1, 2};
__constant__ int c[2] = {10, 20};
extern "C" __global__ void f(int* out, int n) {
    __shared__ int s[32];
    const int i = threadIdx.x;
    s[i] = 3 * i;
    const int* p = i % 3 == 0 ? table : i % 3 == 1 ? c : s;
    out[i] = p[n];
}
