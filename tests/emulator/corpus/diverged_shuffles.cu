// Lanes of a branch shuffle among themselves, and lanes wait for lanes that arrive by another branch.
// given: WARPS, zeros(64, u32), zeros(64, u32), zeros(64, u32)
// launch: block=(64,)
// Q.reshape(2, 32) = np.where(np.arange(32) % 2, WARPS[:, 9:10], 5)
// R.reshape(2, 32) = np.where(np.arange(32) % 2, [[0xAAAAAAAA]] * 2, 0)
// S.reshape(2, 32) = (WARPS + np.cumsum([0, *WARPS[0, :2]])[np.arange(32) % 3])[:, np.arange(32) ^ 1]
extern "C" __global__ void f(unsigned* in, unsigned* shuffled, unsigned* masks, unsigned* sums) {
    const unsigned i = threadIdx.x, t = i % 32, v = in[i];
    unsigned got = 5, active = 0;
    if (t % 2) { active = __activemask(); got = __shfl_sync(0xAAAAAAAA, v, 9); }
    shuffled[i] = got;
    masks[i] = active;
    unsigned sum = v;
    for (unsigned p = 0; p < t % 3; ++p) sum += in[p];
    sums[i] = __shfl_xor_sync(~0u, sum, 1);
}
