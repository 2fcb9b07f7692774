// Barriers at different places are one barrier.
// given: zeros(64)
// launch: block=(64,)
// P = [2] * 32 + [1] * 32
extern "C" __global__ void f(int* out) {
    __shared__ int s[64];
    if (threadIdx.x < 32) { s[threadIdx.x] = 1; __syncthreads(); out[threadIdx.x] = s[threadIdx.x + 32]; }
    else { s[threadIdx.x] = 2; __syncthreads(); out[threadIdx.x] = s[threadIdx.x - 32]; }
}
