// Four launches each add a slice of k to C, which the first one sets. Scalar arguments pass the slice's bounds.
// declared: slices_of_k

extern "C" __global__ void f(
    const float* A, const float* B, float* C, int m, int n, int k, unsigned short begin, long long end)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = begin ? C[row * n + column] : 0.0f;
    for (int p = begin; p < end; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
