// A violation is reported once for each kind, array and line.
// given: zeros(32), zeros(4), i32(3)
// launch: grid=(9,)
// expect: out-of-bounds-read at line 11: of P
// expect: out-of-bounds-read at line 10: of Q
// expect: out-of-bounds-write at line 10: of P
// expect: out-of-bounds-write at line 11: of P
extern "C" __global__ void f(int* out, int* in, int n) {
    for (int i = 0; i < n; ++i) {
        out[threadIdx.x + 32 + i] = in[-1 - i];
        out[-1] += 1;
    }
}
