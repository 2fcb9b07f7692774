// The first thread is the first by x, then y, then z.
// given: zeros(64)
// launch: block=(4, 2, 2)
// expect: out-of-bounds-write at line 7: thread (3, 0, 1) of block (0, 0)
extern "C" __global__ void f(int* out) {
    const int x = threadIdx.x, y = threadIdx.y, place = x + 4 * y;
    if (threadIdx.z == 1 && place >= 3 && x != 1) out[64 + place] = 1;
}
