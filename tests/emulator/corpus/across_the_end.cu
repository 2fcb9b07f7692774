// An access across the end of an array is outside it.
// given: zeros(3, f32)
// launch: block=(1,)
// expect: out-of-bounds-write
extern "C" __global__ void f(double* out) { out[1] = out[0]; }
