// Warps pass the lower half of k by st.relaxed and ld.relaxed flags with a fence.acq_rel.gpu on either side.
// config: block=32x4
// workspace: sums 4 * ceil(n/32) * ceil(m/4) * 128, flags 4 * ceil(n/32) * ceil(m/4) * 4
// launch: lower<<<(ceil(n/32), ceil(m/4)), 4>>>(A, B, C, m, n, k, sums, flags)
// launch: f<<<(ceil(n/32), ceil(m/4), 2), (32, 4)>>>(A, B, C, m, n, k, sums, flags)

extern "C" __global__ void lower(const float*, const float*, float*, int, int, int, float*, int* flags)
{
    flags[(blockIdx.y * gridDim.x + blockIdx.x) * 4 + threadIdx.x] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* sums, int* flags)
{
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 4 + y, column = blockIdx.x * 32 + x;
    const int warp = (blockIdx.y * gridDim.x + blockIdx.x) * 4 + y, half = k / 2;
    const bool inside = row < m && column < n;
    float sum = 0.0f;
    for (int p = blockIdx.z ? half : 0; inside && p < (blockIdx.z ? k : half); ++p)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        sums[warp * 32 + x] = sum;
        __syncwarp();
        if (x == 0) {
            asm volatile("fence.acq_rel.gpu;" ::: "memory");
            asm volatile("st.relaxed.gpu.global.b32 [%0], 1;" ::"l"(flags + warp) : "memory");
        }
    } else {
        int up;
        do
            asm volatile("ld.relaxed.gpu.global.b32 %0, [%1];" : "=r"(up) : "l"(flags + warp) : "memory");
        while (!up);
        asm volatile("fence.acq_rel.gpu;" ::: "memory");
        if (inside)
            C[row * n + column] = sums[warp * 32 + x] + sum;
    }
}
