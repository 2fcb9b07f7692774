// Two buffers whose pointers are exchanged in each step need one barrier per step.

#define T 16
extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    __shared__ float buffers[2][2 * T * T];
    const int tx = threadIdx.x, ty = threadIdx.y, row = blockIdx.y * T + ty, column = blockIdx.x * T + tx;
    float *now = buffers[0], *next = buffers[1], sum = 0.0f;
    for (int p = -T; p < k; p += T) {
        const int ahead = p + T;
        next[ty * T + tx] = row < m && ahead + tx < k ? A[row * k + ahead + tx] : 0.0f;
        next[(T + ty) * T + tx] = ahead + ty < k && column < n ? B[(ahead + ty) * n + column] : 0.0f;
        for (int q = 0; q < T && p >= 0; ++q)
            sum += now[ty * T + q] * now[(T + q) * T + tx];
        __syncthreads();
        float* const used = now;
        now = next;
        next = used;
    }
    if (row < m && column < n)
        C[row * n + column] = sum;
}
