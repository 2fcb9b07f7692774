// A function that is missing is refused by name, where a thread calls it.
// with CALL, NAME: free((void*)(long long)out[1]); -> free | out[0] = unknown(3); -> unknown |
//     void* p = malloc(out[1]); out[0] = p == 0; free(p); -> malloc
// with X, REFUSED: 0 -> nothing | 1 -> the emulator does not know the instruction call.uni of NAME (test.cu:10)
// given: ints(X, X)
// launch: block=(1,), options=("-rdc=true",)
// P = [0, 5]
// refused: REFUSED
extern "C" __device__ int unknown(int);
extern "C" __global__ void f(int* out) { if (out[1]) { CALL } out[1] = 5; }
