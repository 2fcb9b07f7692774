// Elements of a variable are reached by name, by offset and by pointer. 8 to 39 hold 0 to 31 at first.
// given: zeros(32), i32(8)
// P = [124, 24, 24, 24, 48, 49, 50, 51, *range(24, 48)]
__device__ int cache[64];
extern "C" __global__ void f(int* out, int n) {
    const int i = threadIdx.x;
    int* cell = n ? &cache[i + n] : out;
    *cell = i;                     // a generic address
    int4* four = (int4*)cache;
    __syncthreads();
    if (i == 0) {
        cache[0] = 100;
        four[1] = four[8];
    }
    __syncthreads();
    out[i] = cache[i] + cache[4];
}
