// A barrier does not wait for threads and blocks that have exited.
// with GRID, CONDITION, WANTED: 2 -> blockIdx.x * 32 + threadIdx.x < 40 -> [2] * 40 + [0] * 24
// with GRID, CONDITION, WANTED: 3 -> blockIdx.x != 1 -> [2] * 32 + [0] * 32 + [2] * 32
// given: zeros(GRID * 32)
// launch: grid=(GRID,)
// P = WANTED
extern "C" __global__ void f(int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (!(CONDITION)) return;
    out[i] = 1;
    __syncthreads();
    out[i] += 1;
}
