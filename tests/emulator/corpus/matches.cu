// Lanes of the same value find each other.
// given: WARPS, zeros(64, u32), zeros(64, u32), zeros(64, u32)
// launch: block=(64,)
// Q.reshape(2, 32) = np.array(
//     [[sum(int(v % 4 == w % 4) << t for t, w in enumerate(row)) for v in row] for row in WARPS])
// R = np.full(64, WORD)
// S = np.zeros(64)
extern "C" __global__ void f(unsigned* in, unsigned* any, unsigned* same, unsigned* different) {
    const unsigned i = threadIdx.x, t = i % 32, v = in[i];
    int alike;
    any[i] = __match_any_sync(~0u, v % 4);
    unsigned mask = __match_all_sync(~0u, t < 16 ? i / 32 : v * 0 + i / 32, &alike);
    same[i] = alike ? mask : 7;
    mask = __match_all_sync(~0u, t < 16 ? t : v * 0 + t, &alike);
    different[i] = alike ? 7 : mask;
}
