// Threads of one instruction may access different arrays, rightly and wrongly.
// given: np.arange(8, dtype=f32), np.arange(10, 18, dtype=f32)
// launch: block=(6,)
// expect: out-of-bounds-read: thread (2, 0) of block (0, 0) reads 12 bytes before the start of P
// expect: out-of-bounds-read: thread (3, 0) of block (0, 0) reads 364 bytes past the end of Q
// expect: out-of-bounds-read: thread (4, 0) of block (0, 0) reads address 0x8, far from every array
// P[2:4] = [1, 12]
// np.isnan(P[4:]).all() = True
extern "C" __global__ void f(float* out, const float* in) {
    const float* places[] = {out + 1, in + 2, out - 3, in + 99, (const float*)8, out + 8};
    const float* place = out;
    for (int i = 0; i < 6; ++i) if (i == threadIdx.x) place = places[i];
    out[2 + threadIdx.x] = *place;
}
