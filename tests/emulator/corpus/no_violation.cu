// An access inside an array, or one that no thread makes, is no violation; else the first thread is reported.
// with STATEMENT, EXPECTED: P[7] = Q[7]; -> nothing | P[0] = Q[0]; -> nothing |
//     if (n < 0) P[99999] = Q[-99999]; -> nothing |
//     if (threadIdx.x > 7) P[threadIdx.x * 1000] = 1; -> nothing |
//     if (blockIdx.x == 1 && threadIdx.x >= 2) P[n + threadIdx.x] = 1; ->
//     out-of-bounds-write at line 11: thread (2, 0) of block (1, 0)
// given: zeros(8, f32), np.ones(8, f32), i32(8)
// launch: block=(4,), grid=(2,)
// expect: EXPECTED
extern "C" __global__ void f(float* P, const float* Q, int n) {
    STATEMENT
}
