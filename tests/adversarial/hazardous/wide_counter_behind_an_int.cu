// A 64-bit counter in a workspace follows one 32-bit number, so that its offset is 4 instead of a multiple of 8.
// expect: misaligned
// workspace: control 16
// launch: zero<<<1, 4>>>(control)
// launch: f<<<(ceil(n/16), ceil(m/16)), (16, 16)>>>(A, B, C, m, n, k, control)

extern "C" __global__ void zero(int* control) { control[threadIdx.x] = 0; }

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k, int* control)
{
    unsigned long long* done = (unsigned long long*)(control + 1);
    const int row = blockIdx.y * 16 + threadIdx.y, column = blockIdx.x * 16 + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
    atomicAdd(done, 1ull);
}
