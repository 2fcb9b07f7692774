// Vectors are loaded and stored.
// given: zeros(128, f32), np.arange(128, dtype=f32), np.arange(64.0)
// P.reshape(32, 4) = np.array([[4 * t + 3, 4 * t + 2 + 2 * t, 4 * t + 1, 4 * t * (2 * t + 1)] for t in T])
extern "C" __global__ void f(float4* out, const float4* in, const double2* wide) {
    float4 x = in[threadIdx.x];
    double2 y = wide[threadIdx.x];
    out[threadIdx.x] = make_float4(x.w, x.z + (float)y.x, x.y, x.x * (float)y.y);
}
