// Threads add to a variable one after the other.
// given: zeros(3), i32(7)
// launch: block=(3,)
// P = [2 * 7 + 6, 1000 + 7 + 6, 2 * 7 + 6]
__device__ int sum[2] = {0, 1000};
__device__ int total;
extern "C" __global__ void f(int* out, int n) {
    atomicAdd(&sum[threadIdx.x % 2], n);
    atomicAdd(n ? &total : out, 2);  // a generic address
    __syncthreads();
    out[threadIdx.x] = sum[threadIdx.x % 2] + total;
}
