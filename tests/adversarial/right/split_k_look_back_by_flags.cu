// Slices of k are blocks along z: each waits for the flag of the slice below it, and passes on the sum so far.
// workspace: sums 4 * ceil(n/16) * ceil(m/16) * 256, flags 4 * ceil(n/16) * ceil(m/16) * 3
// launch: clear<<<ceil(ceil(n/16) * ceil(m/16) * 3 / 256), 256>>>(A, B, C, m, n, k, sums, flags)
// launch: f<<<(ceil(n/16), ceil(m/16), 3), block>>>(A, B, C, m, n, k, sums, flags)

extern "C" __global__ void clear(const float*, const float*, float*, int m, int n, int k, float* sums, int* flags)
{
    const int i = blockIdx.x * 256 + threadIdx.x;
    if (i < (m + 15) / 16 * ((n + 15) / 16) * 3)
        flags[i] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* sums, int* flags)
{
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    const int z = blockIdx.z, tile = blockIdx.y * gridDim.x + blockIdx.x, tiles = gridDim.x * gridDim.y;
    float* const handed = &sums[tile * 256 + y * 16 + x];
    float sum = 0.0f;
    for (int p = k * z / 3; p < k * (z + 1) / 3; ++p)
        if (row < m && column < n)
            sum += A[row * k + p] * B[p * n + column];
    if (z > 0) {
        if (x == 0 && y == 0) {
            while (*(volatile int*)&flags[(z - 1) * tiles + tile] == 0)
                ;
            __threadfence();
        }
        __syncthreads();
        sum += *handed;
    }
    if (z < 2) {
        *handed = sum;
        __syncthreads();
        if (x == 0 && y == 0) {
            __threadfence();
            *(volatile int*)&flags[z * tiles + tile] = 1;
        }
    } else if (row < m && column < n) {
        C[row * n + column] = sum;
    }
}
