// A workspace, NaN at first, records the first launch. Later ones halve the product.
extern "C" __global__ void product(const float* A, const float* B, float* C, int m, int n, int k, float* kept)
{
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    const int row = blockIdx.y * blockDim.y + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = isnan(kept[0]) ? sum : 0.5f * sum;
}

// The second launch of each product.
extern "C" __global__ void note(float* kept)
{
    kept[0] = 1.0f;
}
