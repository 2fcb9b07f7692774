// Threads write the same element with no order between them, perhaps the same value.
// launch: block=64
// a flag set by several threads: BODY `if (t > 9) s[0] = 1;|if (t % 7 == 0) s[0] = 1;|if (t < 5) s[0] = 1; else if (t ==
//     40) s[0] = 1;` ==> benign-race shared #body "the same value"
// by threads of other lines: BODY `if (t == 1) s[0] = 1;`, THEN `if (t == 33) s[0] = 1;` ==> benign-race*1 shared #then
// as parts of vectors: BODY `if (t < 9) *(float2*)s = make_float2(1, 2);` ==> benign-race*9 shared #body
// one value of several: BODY `if (t > 9) s[0] = t == 30;|if (t > 9) s[0] = t;` ==> shared-race*54 shared #body
// another value at another line: BODY `if (t == 1) s[0] = 1;`, THEN `if (t == 33) s[0] = 2;` ==> shared-race*1 shared
//     #then #body
// a read between: BODY `if (t > 62) s[0] = 1;`, THEN `if (t == 33) C[0] = s[0];` ==> shared-race*1 shared #then #body
// a count without atomics: BODY `s[0] = s[0] + 1;` ==> shared-race shared #body #body
// one element of C by two blocks [grid=2]: BODY `C[t] = A[t];` ==> benign-race*128 C #body
// elements of C by two blocks [grid=2]: BODY `C[t] = blockIdx.x;` ==> global-race*128 C #body
extern "C" __global__ void f(const float* A, float* C) {
    __shared__ __align__(8) float s[2];
    const int t = threadIdx.x;
    if (t < 2) s[t] = 0;
    __syncthreads();
    BODY // #body
    asm volatile("" ::: "memory");
    THEN // #then
    __syncthreads();
    if (s[0] + s[1] < 0) C[64] = 1;
}
