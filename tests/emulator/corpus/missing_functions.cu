// A kernel runs as long as no thread calls a function that is missing.
// with CALL: void* p = malloc(out[1]); out[0] = p == 0; free(p); | free((void*)(long long)out[1]); |
//     out[0] = unknown(3);
// given: zeros(2)
// launch: block=(1,), options=("-rdc=true",)
// P = [0, 5]
extern "C" __device__ int unknown(int);
extern "C" __global__ void f(int* out) { if (out[1]) { CALL } out[1] = 5; }
