// All lanes of a warp get the same result.
// with CALL, RESULT: __ballot_sync(~0u, v & 1) -> sum(int(v & 1) << t for t, v in enumerate(row))
// with CALL, RESULT: __any_sync(~0u, v == in[40]) -> WARPS[1, 8] in row | __all_sync(~0u, v < 990) -> row.max() < 990
// with CALL, RESULT: __reduce_max_sync(~0u, v) -> row.max() | __reduce_min_sync(~0u, v) -> row.min()
// with CALL, RESULT: __reduce_add_sync(~0u, v) -> row.sum() | __activemask() -> WORD
// with CALL, RESULT: __reduce_or_sync(~0u, v) -> np.bitwise_or.reduce(row)
// with CALL, RESULT: __reduce_xor_sync(~0u, v) -> np.bitwise_xor.reduce(row)
// with CALL, RESULT: __reduce_and_sync(~0u, v|3) -> np.bitwise_and.reduce(row|3)
// with CALL, RESULT: tree(v) -> row.sum()
// given: WARPS, zeros(64, u32)
// launch: block=(64,)
// Q.reshape(2, 32) = np.array([[RESULT] * 32 for row in WARPS])
__device__ unsigned tree(unsigned sum) {
    for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
    return sum;
}
extern "C" __global__ void f(unsigned* in, unsigned* out) {
    const unsigned i = threadIdx.x, v = in[i];
    out[i] = CALL;
}
