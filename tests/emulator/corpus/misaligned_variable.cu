// A misaligned access names the variable.
// given: zeros(32), i32(5)
// launch: block=(1,)
// expect: misaligned: 5 bytes into x, no multiple of 4
__device__ int x[4];
extern "C" __global__ void f(int* out, int n) { out[0] = *(int*)((char*)x + n); }
