// The line of a violation is the one that its thread reached: block (1, 0) precedes block (0, 1).
// given: zeros(8)
// launch: grid=(2, 2), block=(1, 2)
// expect: out-of-bounds-write at line 7: thread (0, 1) of block (1, 0) writes 40 bytes past the end of P
extern "C" __global__ void f(int* out) {
    const bool wrong = (blockIdx.x == 1 && blockIdx.y == 0 && threadIdx.y == 1) || blockIdx.y == 1;
    if (wrong) out[8 + 100 * blockIdx.y + 10 * threadIdx.y] = 1;
}
