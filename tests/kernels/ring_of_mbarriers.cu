__device__ unsigned address(const void *pointer) { return __cvta_generic_to_shared(pointer); }

__device__ void copy(float *to, const float *from)
{
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(address(to)), "l"(from) : "memory");
}

__device__ void wait(unsigned long long *barrier, int parity)
{
    asm volatile("{\n.reg .pred done;\n"
                 "again: mbarrier.try_wait.parity.shared.b64 done, [%0], %1;\n"
                 "@!done bra again;\n}" ::"r"(address(barrier)), "r"(parity) : "memory");
}

extern "C" __global__ void own(const float *A, const float *B, float *C, int m, int n, int k)
{
    __shared__ float a[2][16][16], b[2][16][16];
    __shared__ unsigned long long full[2];
    const int x = threadIdx.x, y = threadIdx.y, row = blockIdx.y * 16 + y, column = blockIdx.x * 16 + x;
    if (x == 0 && y < 2)
        asm volatile("mbarrier.init.shared.b64 [%0], 256;" ::"r"(address(&full[y])) : "memory");
    __syncthreads();
    float sum = 0;
    for (int step = -1; step < k / 16; step++) {
        if (const int next = step + 1; next < k / 16) {
            copy(&a[next % 2][y][x], &A[row * k + next * 16 + x]);
            copy(&b[next % 2][y][x], &B[(next * 16 + y) * n + column]);
            asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(address(&full[next % 2])) : "memory");
        }
        if (step < 0)
            continue;
        wait(&full[step % 2], PARITY);
        for (int p = 0; p < 16; p++)
            sum += a[step % 2][y][p] * b[step % 2][p][x];
        __syncthreads();
    }
    C[row * n + column] = sum;
}
