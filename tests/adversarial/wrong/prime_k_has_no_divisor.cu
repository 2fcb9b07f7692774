// k is divided into pieces of its least divisor, searched for up to k - 1: a prime k loses its last term.
// sizes: 33x35x36 33x35x37

extern "C" __global__ void f(const float* A, const float* B, float* C, int m, int n, int k)
{
    const int row = blockIdx.y * blockDim.y + threadIdx.y, column = blockIdx.x * blockDim.x + threadIdx.x;
    if (row >= m || column >= n)
        return;
    int piece = 2;
    while (piece < k - 1 && k % piece != 0)
        ++piece;
    float sum = 0.0f;
    for (int start = 0; start + piece <= k; start += piece)
        for (int p = start; p < start + piece; ++p)
            sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
