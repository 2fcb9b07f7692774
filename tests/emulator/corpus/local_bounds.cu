// A thread's own array has bounds.
// given: zeros(32), i32(2)
// launch: block=(7,)
// expect: out-of-bounds-read at line 8: thread (6, 0) of block (0, 0)
extern "C" __global__ void f(int* out, int n) {
    int mine[8];
    for (int i = 0; i < 8; ++i) mine[(i * 3) % 8] = i + n;
    out[threadIdx.x] = mine[threadIdx.x + n];
}
