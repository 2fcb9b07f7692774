// A misaligned vector is a violation.
// given: zeros(200, f32)
// expect: misaligned at line 5: thread (5, 0) of block (0, 0)
extern "C" __global__ void f(float* out) {
    *(float4*)(out + 4 * threadIdx.x + (threadIdx.x == 5 ? 1 : 0)) = make_float4(1, 2, 3, 4);
}
