// Shared memory belongs to a block, and barriers order it.
// given: zeros(5 * 64)
// launch: grid=(5,), block=(64,), shared_bytes=256
// P.reshape(5, 64) = np.array([rolled(block) for block in range(5)])
extern __shared__ int dynamic[];
extern "C" __global__ void f(int* out) {
    __shared__ int fixed[64];
    __shared__ double other[3];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + threadIdx.x;
    fixed[t] = i;
    dynamic[blockDim.x - 1 - t] = 10 * i;
    if (t < 3) other[t] = t + 0.5;
    for (int round = 0; round < 3; ++round) {
        __syncthreads();
        const int x = fixed[(t + 1) % blockDim.x] + dynamic[t];
        __syncthreads();
        fixed[t] = x + (int)(2 * other[round]);
    }
    out[i] = fixed[t];
}
