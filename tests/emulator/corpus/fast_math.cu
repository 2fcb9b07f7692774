// Options of fast arithmetic make zeros of subnormal numbers.
// given: np.array([6.0, 2.0**-100, 2.0**-130, 0.0], f32), np.full(4, 2.0**-40, f32)
// with OPTIONS, SUM, BOUND: () -> 2.0**-138 -> 1 | ("-ftz=true",) -> 0 -> 0 | ("-use_fast_math",) -> 0 -> 0
// launch: block=(4,), options=OPTIONS
// P = [6 * 2.0**-38, SUM, 0, 0]
// Q = [3, 1, BOUND, 0]
extern "C" __global__ void f(float* a, float* b) {
    const int i = threadIdx.x;
    float sum = 0;
    for (int p = 0; p < 4; ++p) sum += a[i] * b[p];
    __syncthreads();
    b[i] = a[i] < 1 ? ceilf(fmaxf(-fabsf(a[i]), a[i])) : floorf(0.5f * a[i]);
    a[i] = sum;
}
