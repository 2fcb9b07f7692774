// A function that is missing is refused by name where a thread calls it.
// with CALL, NAME: free((void*)(long long)out[1]); -> free | out[0] = unknown(3); -> unknown |
//     void* p = malloc(out[1]); out[0] = p == 0; free(p); -> malloc
// given: ints(1, 1)
// launch: block=(1,), options=("-rdc=true",)
// refused: the emulator does not know the instruction call.uni of NAME (test.cu:8)
extern "C" __device__ int unknown(int);
extern "C" __global__ void f(int* out) { if (out[1]) { CALL } out[1] = 5; }
