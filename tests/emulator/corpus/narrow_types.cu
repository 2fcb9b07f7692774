// Narrow types extend and wrap.
// given: zeros(32), np.arange(-16, 16, dtype=np.int8), np.arange(224, 256).astype(np.uint8),
//     np.arange(-5000, 5000, 313, dtype=np.int16), b"\xd4\xfe\xfa\0", np.uint8(200), np.int64(7 << 40), f32(2.75)
// P[t] = (t - 16) * 1_000_000 + (224 + t) * 1000 + 313 * t - 5000 - 300 + 250 + 200 + 7 + 2
struct Pair { short low; unsigned char high; };
extern "C" __global__ void f(int* out, const signed char* s8, const unsigned char* u8, const short* s16, Pair pair,
                             unsigned char c, long long big, float x) {
    const int t = threadIdx.x;
    out[t] = s8[t] * 1000000 + u8[t] * 1000 + s16[t] + pair.low + pair.high + c + (int)(big >> 40) + (int)x;
}
