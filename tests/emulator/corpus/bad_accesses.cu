// One bad access of many leaves the others alone.
// given: zeros(64), np.arange(64, dtype=i32)
// launch: grid=(2,)
// expect: out-of-bounds-read: of Q
// expect: out-of-bounds-write: of P
// P[[*range(11), *range(12, 37), *range(38, 64)]] = [*range(1, 12), *range(13, 38), *range(39, 65)]
// P[37] = 0
extern "C" __global__ void f(int* out, const int* in) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i == 37 ? 5000 : i] = in[i == 11 ? -3 : i] + 1;
}
