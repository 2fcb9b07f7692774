// A message contains the distance from the array.
// given: zeros(8)
// launch: block=(1,)
// with PLACE, WHERE: out[8 + z] -> the first byte past the end of P | out[10 + z] -> 8 bytes past the end of P
// with PLACE, WHERE: out[-1 + z] -> 4 bytes before the start of P |
//     out[(1 << 28) + z] -> 1073741792 bytes past the end of P
// with PLACE, WHERE: *(volatile int*)(0) -> address 0x0, far from every array
// with PLACE, WHERE: *(volatile int*)(64) -> address 0x40, far from every array
// with PLACE, WHERE: *(volatile int*)(1ull << 63) -> address 0x8000000000000000, far from every array
// with PLACE, WHERE: *(volatile int*)(~7ull) -> address 0xfffffffffffffff8, far from every array
// expect: out-of-bounds-write at line 14: thread (0, 0) of block (0, 0) writes WHERE at test.cu:14
extern "C" __global__ void f(int* out) {
    const int z = (int)threadIdx.z;
    PLACE = 1;
}
