// A trap that no thread reaches is not reported.
// P = [4] * 32
extern "C" __global__ void f(int* out) { if (out[threadIdx.x]) __trap(); out[threadIdx.x] = 4; }
