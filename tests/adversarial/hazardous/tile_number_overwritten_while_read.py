"""Thread 0 fetches the block's next tile; the barrier that keeps it from doing so while others read is missing."""

from mmcore import Launch, Workspace


def launch(problem, config, device):
    following = Workspace("next", 4)
    return [
        Launch((1,), (1,), entry="zero", arguments=(following,)),
        Launch((3,), (16, 16), entry="f", arguments=("A", "B", "C", "m", "n", "k", following)),
    ]


DECLARED = {"entry": "f", "launch": launch}
EXPECTED = {"check": "shared-race"}

SOURCE = """
extern "C" __global__ void zero(int* next) { *next = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* next)
{
    __shared__ int tile;
    const int wide = (n + 15) / 16, tiles = wide * ((m + 15) / 16);
    for (;;) {
        if (threadIdx.x == 0 && threadIdx.y == 0)
            tile = atomicAdd(next, 1);
        __syncthreads();
        const int mine = tile;
        if (mine >= tiles)
            return;
        const int row = mine / wide * 16 + threadIdx.y, column = mine % wide * 16 + threadIdx.x;
        float sum = 0.0f;
        for (int p = 0; p < k && row < m && column < n; ++p)
            sum += A[row * k + p] * B[p * n + column];
        if (row < m && column < n)
            C[row * n + column] = sum;
    }
}
"""
