// The flag uses st.relaxed and ld.relaxed of .gpu scope: it arrives, but nothing orders the part before it.
// expect: global-race
// sizes: 4x40x30
// config: block=32x1
// workspace: ready 4 * m * n, parts 4 * m * n
// launch: zero<<<(ceil(n/32), m), 32>>>(n, ready)
// launch: f<<<(ceil(n/32), m, 2), 32>>>(A, B, C, m, n, k, parts, ready)

__device__ void set(int* flag) { asm volatile("st.relaxed.gpu.global.u32 [%0], 1;" ::"l"(flag) : "memory"); }

__device__ int get(const int* flag)
{
    int value;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(value) : "l"(flag) : "memory");
    return value;
}

extern "C" __global__ void zero(int n, int* ready)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        ready[blockIdx.y * n + column] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, float* parts, int* ready)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 2)
        sum += A[row * k + p] * B[p * n + column];
    if (blockIdx.z == 0) {
        parts[i] = sum;
        set(&ready[i]);
    } else {
        while (!get(&ready[i]))
            ;
        C[i] = sum + parts[i];
    }
}
