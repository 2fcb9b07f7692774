// A function that calls itself is refused by name, where a thread makes the call.
// with CALLED, WORDS: itself -> itself, which calls itself (test.cu: |
//     itself_through_another -> even, which calls itself through odd (test.cu:
// with X, RESULT, REFUSED: 1 -> 3 -> nothing | 3 -> 1 -> nothing | 4 -> 1 -> nothing |
//     9 -> 0 -> the instruction call.uni of WORDS
// given: ints(X, X)
// launch: block=(1,)
// P[0] = RESULT
// refused: REFUSED
__device__ int even(int x);
__device__ __noinline__ int odd(int x) { return x > 4 ? even(x - 1) * x + even(x / 2) : 0; }
__device__ __noinline__ int even(int x) { return x > 4 ? odd(x - 1) + odd(x / 2) : 1; }
__device__ __noinline__ int itself_through_another(int x) { return even(x); }
__device__ __noinline__ int itself(int x) { return x > 4 ? itself(x / 2) * itself(x - 1) + x : 1; }
extern "C" __global__ void f(int* out) { out[0] = out[1] > 2 ? CALLED(out[1]) : 3; }
