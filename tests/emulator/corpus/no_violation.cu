// An access inside an array, or one that no thread makes, is no violation.
// given: zeros(8, f32), np.ones(8, f32), i32(8)
// launch: block=(4,), grid=(2,)
// with STATEMENT: P[7] = Q[7]; | P[0] = Q[0]; | if (n < 0) P[99999] = Q[-99999];
// with STATEMENT: if (threadIdx.x > 7) P[threadIdx.x * 1000] = 1;
extern "C" __global__ void f(float* P, const float* Q, int n) {
    STATEMENT
}
