// Threads with arrays of their own exchange elements by shared memory.
extern "C" __global__ void f(int* out) {
    __shared__ int shared[256];
    int mine[64];
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    for (int j = 0; j < 64; ++j) mine[(j * 7 + i) % 64] = i + j;
    shared[threadIdx.x] = mine[i % 64];
    __syncthreads();
    out[i] = shared[threadIdx.x ^ 1];
}
