// A volatile variable is read each time.
// given: zeros(32), i32(3)
// P = [33, 9, *[33] * 30]
__device__ volatile int signal;
__shared__ volatile int shared[1];
extern "C" __global__ void f(int* out, int n) {
    signal = n;
    __syncthreads();
    out[threadIdx.x] = signal + 10 * signal;
    shared[0] = 1;
    out[1] = shared[0] * 9;
}
