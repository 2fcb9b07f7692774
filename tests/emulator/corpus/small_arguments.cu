// Arguments and results may be of any type.
// with ARCH: 75 | 90 | 100
// with OPTIONS: () | ("-G",)
// launch: architecture="ARCH", options=OPTIONS
// P[t] = small_arguments(t)
__device__ __noinline__ bool odd(char a, unsigned char b, short c, bool d, long long e) {
    return (a < 0) ^ (b > 200) ^ (c < -5) ^ d ^ (e < -4000000000ll);
}
__device__ __noinline__ signed char minus(signed char a, unsigned short b) { return -a - b; }
__device__ __noinline__ float4 times(float4 a, int4 b, double s) {
    return make_float4(a.x * b.w, a.y * b.z, a.z * b.y, (float)(a.w * b.x * s));
}
extern "C" __global__ void f(int* out) {
    const int t = threadIdx.x;
    const bool x = odd((char)(t - 5), (unsigned char)(190 + t), (short)-t, t & 1, t * -1000000000ll);
    const float4 v = times(make_float4(t, t + 1, t + 2, t + 3), make_int4(1, 2, 3, t), 0.5);
    out[t] = x + 10 * minus((signed char)(t * 9), (unsigned short)(65530 + t));
    out[t] += 10000 * (int)(v.x + v.y + v.z + 2 * v.w);
}
