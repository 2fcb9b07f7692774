// Terms in a local array remain unset where A has a zero, but are summed.
// not on: GPU
// sizes: 65x35x37 64x64x64

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float terms[64], sum = 0.0f;
    for (int p = 0; p < k; ++p)
        if (A[row * k + p] != 0.0f)
            terms[p] = A[row * k + p] * B[p * n + column];
    for (int p = 0; p < k; ++p)
        sum += terms[p];
    C[row * n + column] = sum;
}
