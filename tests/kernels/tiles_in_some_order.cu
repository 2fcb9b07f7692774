struct Order { int tiles[TILES]; };
extern "C" __global__ void own(const float* A, const float* B, float* C, int m, int n, int k, PARAMETER)
{
    BEGIN
    const int across = (n + 7) / 8;
    const int column = tile % across * 8 + threadIdx.x, row = tile / across * 8 + threadIdx.y;
    if (row >= m || column >= n)
        return;
    float sum = 0;
    for (int p = 0; p < k; ++p)
        sum += A[row * k + p] * B[p * n + column];
    C[row * n + column] = sum;
}
