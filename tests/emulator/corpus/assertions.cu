// Each assertion is reported once, with its file, and one that holds is not.
// P[t] = int(t % 2 == 0 and t < 30)
// expect: assertion at line 7: fails the assertion 'x > 0'
// expect: assertion at line 23: fails the assertion 'threadIdx.x < 30'
#line 7 "deep/checks.h"
__device__ __noinline__ void positive(int x) { assert(x > 0); }
#line 20 "test.cu"
extern "C" __global__ void f(int* out) {
    assert(threadIdx.x < 32);
    if (threadIdx.x % 2) positive(-(int)threadIdx.x);
    assert(threadIdx.x < 30);
    out[threadIdx.x] = 1;
}
