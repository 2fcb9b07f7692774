// An access outside an array is reported with its array and line.
// given: zeros(8, f32), np.ones(8, f32), i32(8)
// launch: block=(4,), grid=(2,)
// with STATEMENT, KIND, WHERE: P[threadIdx.x] = Q[8]; -> read -> reads the first byte past the end of Q |
//     P[threadIdx.x] = Q[-1]; -> read -> reads 4 bytes before the start of Q |
//     P[8] = 1; -> write -> writes the first byte past the end of P |
//     P[-1] = 1; -> write -> writes 4 bytes before the start of P |
//     P[1 << 30] = 1; -> write -> writes 4294967264 bytes past the end of P |
//     *(float*)16 = 1; -> write -> writes address 0x10, far from every array |
//     P[threadIdx.x] = *(const float*)(1ull << 62); -> read -> reads address 0x4000000000000000, far from every array
// expect: out-of-bounds-KIND at line 14: thread (0, 0) of block (0, 0) WHERE
extern "C" __global__ void f(float* P, const float* Q, int n)
{
    STATEMENT
}
