// a*b is computed as ((a+b)^2 - (a-b)^2) / 4, which loses the smaller factor's bits where magnitudes differ.
// sizes: 65x35x20 64x64x100

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    float sum = 0.0f;
    for (int p = 0; p < k; ++p) {
        const float plus = A[row * k + p] + B[p * n + column], minus = A[row * k + p] - B[p * n + column];
        sum += (plus * plus - minus * minus) * 0.25f;
    }
    C[row * n + column] = sum;
}
