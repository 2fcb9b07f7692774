// Structures are passed and returned by value.
// with ARCH: 75 | 90 | 100
// with OPTIONS: () | ("-G",)
// given: zeros(32, f32), i32(3)
// launch: architecture="ARCH", options=OPTIONS
// P[t] = 1000 + min(2 * t, 31) + (1000 - 2 * t) * 0.5 + 4 + 4 + 2
struct Pair { double sum; float low; short count; char tag[5]; };
__device__ __noinline__ Pair joined(Pair a, const Pair b, float scale) {
    a.sum += scale * b.sum;
    a.low = fminf(a.low, b.low);
    a.count += b.count;
    for (int i = 0; i < 5; ++i) a.tag[i] += b.tag[4 - i];
    return a;
}
extern "C" __global__ void f(float* out, int which) {
    const int t = threadIdx.x;
    Pair a = {1.0 + t, 2.0f * t, (short)-t, {1, 2, 3, 4, (char)t}}, b = {0.5, 31.0f, 1000, {5, 4, 3, 2, 1}};
    const Pair c = joined(joined(a, b, 2.0f), a, -1.0f);
    out[t] = c.sum * 1000 + c.low + c.count * 0.5f + c.tag[which];
}
