// An access outside a variable names it.
// given: zeros(32), i32(8)
// launch: block=(1,)
// with DECLARED, BODY, KIND, MESSAGE: __device__ float x[4]; -> out[0] = x[n]; -> read -> reads 16 bytes past the end of x
// with DECLARED, BODY, KIND, MESSAGE: __device__ float x[4]; -> x[n] = n; -> write -> writes 16 bytes past the end of x
// with DECLARED, BODY, KIND, MESSAGE: __device__ int x; -> (&x)[n - 9] = n; -> write
//     -> writes 4 bytes before the start of x
// with DECLARED, BODY, KIND, MESSAGE: __device__ int x; -> atomicAdd(&x + n, 1); -> write
//     -> writes 28 bytes past the end of x
// with DECLARED, BODY, KIND, MESSAGE: __constant__ int c[8]; -> out[0] = c[n]; -> read
//     -> reads the first byte past the end of c
// with DECLARED, BODY, KIND, MESSAGE: __constant__ int c[8]; -> *(n ? (int*)c + 1 : out) = 5; -> write
//     -> writes to c, which is constant
// with DECLARED, BODY, KIND, MESSAGE: namespace a { __device__ int x; } -> (&a::x)[n] = 1; -> write
//     -> writes 28 bytes past the end of a::x
// with DECLARED, BODY, KIND, MESSAGE: int; -> static __device__ int x; (&x)[n] = 1; out[0] = x; -> write
//     -> writes 28 bytes past the end of x
// expect: out-of-bounds-KIND at line 21: thread (0, 0) of block (0, 0) MESSAGE
DECLARED
extern "C" __global__ void f(int* out, int n) {
    BODY
}
