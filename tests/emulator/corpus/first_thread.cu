// The first thread that makes a wrong access is reported.
// given: zeros(8, f32), np.ones(8, f32), i32(8)
// launch: block=(4,), grid=(2,)
// with STATEMENT, KIND, WORDS: *(float*)((char*)P + 2) = 1; -> misaligned -> thread (0, 0) of block (0, 0)
// with STATEMENT, KIND, WORDS: if (blockIdx.x == 1 && threadIdx.x >= 2) P[n + threadIdx.x] = 1; ->
//     out-of-bounds-write -> thread (2, 0) of block (1, 0)
// expect: KIND at line 9: WORDS
extern "C" __global__ void f(float* P, const float* Q, int n) {
    STATEMENT
}
