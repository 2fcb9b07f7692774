// Two warps pass numbers through a ring in shared memory by st.release and ld.acquire of two counters.
// sizes: 9x40x70 5x64x33
// config: block=64
// grid: ceil(n/32), m

__device__ int acquire(const int* p)
{
    int value;
    asm volatile("ld.acquire.cta.shared.b32 %0, [%1];"
                 : "=r"(value) : "r"((unsigned)__cvta_generic_to_shared(p)) : "memory");
    return value;
}
__device__ void release(int* p, int value)
{
    asm volatile("st.release.cta.shared.b32 [%0], %1;"
                 ::"r"((unsigned)__cvta_generic_to_shared(p)), "r"(value) : "memory");
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float ring[4];
    __shared__ int filled, used[32];
    const int t = threadIdx.x, lane = t % 32, row = blockIdx.y, column = blockIdx.x * 32 + lane;
    if (t == 0)
        filled = 0;
    if (t < 32)
        used[t] = 0;
    __syncthreads();
    if (t == 0) {
        for (int p = 0; p < k; ++p) {
            for (int reader = 0; reader < 32; ++reader)
                while (p - acquire(&used[reader]) >= 4)
                    ;
            ring[p % 4] = A[row * k + p];
            release(&filled, p + 1);
        }
    } else if (t >= 32) {
        float sum = 0.0f;
        for (int p = 0; p < k; ++p) {
            while (acquire(&filled) <= p)
                ;
            const float a = ring[p % 4];
            release(&used[lane], p + 1);
            if (column < n)
                sum += a * B[p * n + column];
        }
        if (column < n)
            C[row * n + column] = sum;
    }
}
