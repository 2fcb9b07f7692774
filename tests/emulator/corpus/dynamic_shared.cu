// Dynamic shared memory ends with the size that the launch requests.
// launch: shared_bytes=128
// P[t] = t + 5
extern __shared__ int dynamic[];
extern "C" __global__ void f(int* out) {
    __shared__ int fixed[4];
    fixed[threadIdx.x % 4] = 5;
    dynamic[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = dynamic[threadIdx.x] + fixed[threadIdx.x % 4];
}
