// A thread that finds the element untouched stores its part and returns without releasing the lock.
// expect: deadlock
// not on: GPU
// sizes: 2x40x12
// config: block=32x1
// workspace: state 8 * m * n
// launch: zero<<<(ceil(n/32), m), 32>>>(n, state)
// launch: f<<<(ceil(n/32), m, 3), 32>>>(A, B, C, m, n, k, state)

extern "C" __global__ void zero(int n, int2* state)
{
    const int column = blockIdx.x * 32 + threadIdx.x;
    if (column < n)
        state[blockIdx.y * n + column] = make_int2(0, 0);
}

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int2* state)
{
    const int row = blockIdx.y, column = blockIdx.x * 32 + threadIdx.x, i = row * n + column;
    if (column >= n)
        return;
    float sum = 0.0f;
    for (int p = blockIdx.z; p < k; p += 3)
        sum += A[row * k + p] * B[p * n + column];
    while (atomicCAS(&state[i].x, 0, 1) != 0)
        ;
    __threadfence();
    if (state[i].y == 0) {
        C[i] = sum;
        state[i].y = 1;
        return;
    }
    C[i] += sum;
    __threadfence();
    atomicExch(&state[i].x, 0);
}
