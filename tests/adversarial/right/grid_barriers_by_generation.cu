// Three blocks process the rows of C in turn, a third of k at a time, with a barrier of all blocks between.
// sizes: 12x11x13 16x16x16
// config: block=128
// grid: 3

__device__ unsigned waiting, generation;

__device__ void wait_for_all()
{
    __syncthreads();
    if (threadIdx.x == 0) {
        const unsigned now = *(volatile unsigned*)&generation;
        __threadfence();
        if (atomicInc(&waiting, gridDim.x - 1) == gridDim.x - 1) {
            __threadfence();
            atomicAdd(&generation, 1u);
        } else {
            while (*(volatile unsigned*)&generation == now)
                __nanosleep(20);
        }
        __threadfence();
    }
    __syncthreads();
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    for (int turn = 0; turn < 3; ++turn) {
        // Rows of this turn: those that another block had the turn before.
        for (int i = threadIdx.x; i < m * n; i += 128) {
            const int row = i / n, slice = turn;
            if ((row + turn) % 3 != blockIdx.x)
                continue;
            float sum = turn ? C[i] : 0.0f;
            for (int p = slice; p < k; p += 3)
                sum += A[row * k + p] * B[p * n + i % n];
            C[i] = sum;
        }
        wait_for_all();
    }
}
