// An access outside an array is reported with its array, its distance and its line.
// with STATEMENT, KIND, WHERE: P[threadIdx.x] = Q[8]; -> out-of-bounds-read -> reads the first byte past the end of Q |
//     P[threadIdx.x] = Q[-1]; -> out-of-bounds-read -> reads 4 bytes before the start of Q |
//     P[8] = 1; -> out-of-bounds-write -> writes the first byte past the end of P |
//     P[10] = 1; -> out-of-bounds-write -> writes 8 bytes past the end of P |
//     P[-1] = 1; -> out-of-bounds-write -> writes 4 bytes before the start of P |
//     P[1 << 30] = 1; -> out-of-bounds-write -> writes 4294967264 bytes past the end of P |
//     P[1 << 28] = 1; -> out-of-bounds-write -> writes 1073741792 bytes past the end of P |
//     *(volatile float*)0 = 1; -> out-of-bounds-write -> writes address 0x0, far from every array |
//     *(float*)16 = 1; -> out-of-bounds-write -> writes address 0x10, far from every array |
//     *(float*)64 = 1; -> out-of-bounds-write -> writes address 0x40, far from every array |
//     *(float*)(1ull << 63) = 1; -> out-of-bounds-write -> writes address 0x8000000000000000, far from every array |
//     *(float*)~7ull = 1; -> out-of-bounds-write -> writes address 0xfffffffffffffff8, far from every array |
//     P[threadIdx.x] = *(const float*)(1ull << 62); -> out-of-bounds-read ->
//     reads address 0x4000000000000000, far from every array |
//     *(float*)((char*)P + 2) = 1; -> misaligned -> uses an address 2 bytes into P, no multiple of 4
// given: zeros(8, f32), np.ones(8, f32), i32(8)
// launch: block=(4,), grid=(2,)
// expect: KIND at line 22: thread (0, 0) of block (0, 0) WHERE
extern "C" __global__ void f(float* P, const float* Q, int n)
{
    STATEMENT
}
