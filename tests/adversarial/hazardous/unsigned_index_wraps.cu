// An unsigned index wraps below zero in row 0 and addresses an element far beyond A. Its value is not used.
// expect: out-of-bounds-read
// not on: GPU

extern "C" __global__ void f(const float* A, const float* B, float* C, unsigned m, unsigned n, unsigned k)
{
    const unsigned row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    const volatile float* a = A;
    float sum = 0.0f;
    for (unsigned p = 0; p <= k; ++p) {
        const float before = a[row * k + p - 1u];
        if (p > 0)
            sum += before * B[(p - 1) * n + column];
    }
    C[row * n + column] = sum;
}
