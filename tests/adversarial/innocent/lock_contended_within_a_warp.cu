// All lanes of a warp contend for one lock. The holder adds to C and releases it before the lanes reconverge.
// sizes: 2x3x40
// config: block=32x1
// workspace: locks 4 * m * n
// launch: zero<<<(n, m), 1>>>(C, n, locks)
// launch: f<<<(n, m), 32>>>(A, B, C, m, n, k, locks)

extern "C" __global__ void zero(float* C, int n, int* locks)
{
    C[blockIdx.y * n + blockIdx.x] = 0.0f;
    locks[blockIdx.y * n + blockIdx.x] = 0;
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* locks)
{
    const int row = blockIdx.y, column = blockIdx.x, i = row * n + column;
    float sum = 0.0f;
    for (int p = threadIdx.x; p < k; p += 32)
        sum += A[row * k + p] * B[p * n + column];
    for (bool done = false; !done;) {
        if (atomicCAS(&locks[i], 0, 1) == 0) {
            __threadfence();
            C[i] += sum;
            __threadfence();
            atomicExch(&locks[i], 0);
            done = true;
        }
    }
}
