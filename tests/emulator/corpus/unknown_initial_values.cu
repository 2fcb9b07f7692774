// A variable whose initial value is unknown is refused by name.
// given: zeros(1), i32(0)
// launch: options=("-rdc=true",)
// with DECLARED, VALUE, REASON: __device__ int x; __device__ int* p = &x; -> *p -> p, which holds the address of x
// with DECLARED, VALUE, REASON: __device__ int x[9]; __device__ int* p = x + 3; -> *p -> p, which holds the address of x
// with DECLARED, VALUE, REASON: __device__ int x; __device__ int* p[2] = {0, &x};
//     -> *p[n] -> p, which holds the address of x
// with DECLARED, VALUE, REASON: __device__ int x; struct __attribute__((packed)) P { char c; int* p; };
//     __device__ P s = {1, &x}; -> *s.p -> s, which holds the address of x
// with DECLARED, VALUE, REASON: namespace a { extern __device__ int x; } -> a::x -> a::x, which another module defines
// refused: the emulator does not know variables like REASON
DECLARED
extern "C" __global__ void f(int* out, int n) { out[0] = VALUE; }
