// A shuffle returns the value of another lane.
// with CALL, LANE: __shfl_xor_sync(~0u, v, 5) -> t ^ 5 | __shfl_sync(~0u, v, 7) -> 7
// with CALL, LANE: __shfl_up_sync(~0u, v, 3) -> t - 3 if t >= 3 else t
// with CALL, LANE: __shfl_up_sync(~0u, v, 3, 8) -> t - 3 if t % 8 >= 3 else t
// with CALL, LANE: __shfl_down_sync(~0u, v, 3) -> t + 3 if t < 29 else t
// with CALL, LANE: __shfl_down_sync(~0u, v, 3, 16) -> t + 3 if t % 16 < 13 else t
// with CALL, LANE: __shfl_sync(~0u, v, 11, 8) -> t // 8 * 8 + 3 | __shfl_sync(~0u, v, (t * 7) % 32) -> t * 7 % 32
// given: WARPS, zeros(64, u32)
// launch: block=(64,)
// Q.reshape(2, 32) = WARPS[:, [LANE for t in T]]
extern "C" __global__ void f(unsigned* in, unsigned* out) {
    const unsigned i = threadIdx.x, t = i % 32, v = in[i];
    out[i] = CALL;
}
