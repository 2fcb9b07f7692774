// Lane 0 stores an element of A in shared memory while the other lanes of its warp poll for it, as Volta allows.
// sizes: 9x40x20 5x31x33
// config: block=32
// grid: ceil(n/31), m

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float element;
    __shared__ volatile int ready;
    const int lane = threadIdx.x, row = blockIdx.y, column = blockIdx.x * 31 + lane - 1;
    float sum = 0.0f;
    if (lane == 0)
        ready = -1;
    __syncwarp();
    for (int p = 0; p < k; ++p) {
        if (lane == 0) {
            element = A[row * k + p];
            __threadfence_block();
            ready = p;
        } else {
            while (ready < p)
                ;
            __threadfence_block();
            if (column < n)
                sum += element * B[p * n + column];
        }
        __syncwarp();
    }
    if (lane > 0 && column < n)
        C[row * n + column] = sum;
}
