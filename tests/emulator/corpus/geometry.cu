// Every thread runs once with its indices, even where the grid is run in batches.
// with GRID, BLOCK: (1,) -> (1,) | (3, 2, 4) -> (5, 3, 2) | (70,) -> (1024,) | (1, 50) -> (32, 31)
// with GRID, BLOCK: (41, 3) -> (16, 16) | (2, 2, 30) -> (33,)
// given: zeros(np.prod(GRID) * np.prod(BLOCK)), zeros(np.prod(GRID) * np.prod(BLOCK))
// launch: grid=GRID, block=BLOCK
// P = np.ones(len(P), int)
// Q = np.arange(len(P)) * 8 + np.arange(len(P)) % np.prod(BLOCK) % BLOCK[0] % 8
extern "C" __global__ void f(int* count, int* where) {
    const int block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const int i = block * blockDim.x * blockDim.y * blockDim.z + thread;
    count[i] += 1;
    where[i] = i * 8 + threadIdx.x % 8;
}
