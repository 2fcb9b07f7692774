// A store to constant memory is a violation, and changes nothing.
// given: zeros(32), i32(1)
// launch: block=(1,)
// P[0] = 2
// expect: out-of-bounds-write at line 8: writes to c, which is constant
__constant__ int c[2] = {1, 2};
extern "C" __global__ void f(int* out, int n) {
    *(n ? (int*)c + 1 : out) = 5;
    out[0] = c[n];
}
